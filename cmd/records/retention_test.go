package records

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/cmd/config"
)

func closed(t *testing.T, s io.Closer) {
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestHears: the time of a repository begins when the App is uninstalled or taken off it,
// and not when it is suspended.
func TestHears(t *testing.T) {
	t.Parallel()
	const list = `"installation": {"id": 1}, "repositories": [{"full_name": "Octo/hello"}]`
	for name, c := range map[string]struct {
		event, payload string
		begins         bool
	}{
		"uninstalled": {"installation", `{"action": "deleted", ` + list + `}`, true},
		"taken off":   {"installation_repositories", `{"action": "removed", "repositories_removed": [{"full_name": "Octo/hello"}]}`, true},
		"suspended":   {"installation", `{"action": "suspend", ` + list + `}`, false},
		"let in":      {"installation", `{"action": "created", ` + list + `}`, false},
		"added":       {"installation_repositories", `{"action": "added", "repositories_added": [{"full_name": "Octo/hello"}]}`, false},
		"a comment":   {"issue_comment", `{"action": "deleted", ` + list + `}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "h.db")})
			if err != nil {
				t.Fatal(err)
			}
			defer closed(t, s)
			k := New(Config{Server: config.Server{GitHub: config.GitHub{AppID: 1}}, Store: s, Log: slog.New(slog.DiscardHandler)})
			var ended []string
			k.gone.EndSessions = func(_ context.Context, repos []string) { ended = repos }
			source := k.WatchRemovals(func(context.Context, string, []byte) (store.Delivery, bool, error) {
				return store.Delivery{ID: "d"}, true, nil
			})
			if d, ok, err := source(t.Context(), c.event, []byte(c.payload)); d.ID != "d" || !ok || err != nil {
				t.Errorf("%+v %t %v", d, ok, err)
			}
			is, err := s.Meta.Get(t.Context(), "installed")
			if store.Unless(err, store.ErrNotFound) != nil || c.begins != strings.Contains(string(is), `"octo/hello":{"since":`) || c.begins != (len(ended) == 1) {
				t.Errorf("%s %v, and the sessions end of %v", is, err, ended)
			}
		})
	}
}

// TestHearsWhatIsNone: a payload that cannot be read is an error, and one that is not
// taken in begins nothing. A server with a token hears of no App.
func TestHearsWhatIsNone(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "h.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	refused := errors.New("refused")
	k := New(Config{Server: config.Server{GitHub: config.GitHub{AppID: 1}}, Store: s, Log: slog.New(slog.DiscardHandler)})
	for want, source := range map[error]Source{
		refused: k.WatchRemovals(func(context.Context, string, []byte) (store.Delivery, bool, error) {
			return store.Delivery{}, false, refused
		}),
		nil: New(Config{Store: s}).WatchRemovals(func(context.Context, string, []byte) (store.Delivery, bool, error) {
			return store.Delivery{}, false, nil
		}),
	} {
		_, _, err := source(t.Context(), "installation", []byte(`{"action": "deleted", "repositories": [{"full_name": "octo/hello"}]}`))
		if _, none := s.Meta.Get(t.Context(), "installed"); !errors.Is(err, want) || !errors.Is(none, store.ErrNotFound) {
			t.Errorf("%v, %v", err, none)
		}
	}
	all := k.WatchRemovals(func(context.Context, string, []byte) (store.Delivery, bool, error) {
		return store.Delivery{}, false, nil
	})
	if _, _, err := all(t.Context(), "installation", []byte("[")); err == nil {
		t.Error("what cannot be read is taken in")
	}
}
