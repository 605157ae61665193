package setup

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp/granted"
	"github.com/handrail-bot/handrail/cmd/door"
)

// TestEndedWhileItWaits: who presses Ctrl-C before the App is installed is told how to go
// on.
func TestEndedWhileItWaits(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "[]")
		stop()
	}))
	defer srv.Close()
	_, key := hub(t)
	v := &Verb{Dir: t.TempDir(), Listen: "127.0.0.1:8080", Model: "qwen3:8b", GitHub: srv.URL}
	app := granted.App{ID: 4711, Page: srv.URL + "/apps/handrail", Key: []byte(key)}
	f, err := filesIn(v.Dir).writeAll(v, app)
	must(t, err)
	var out strings.Builder
	must(t, v.after(&door.Console{Out: &out}, app, f, unasked).guide(ctx))
	for _, want := range []string{"/apps/handrail/installations/new", "The rest is not checked", "handrail doctor --config '", "handrail serve --config '", "Open a new issue in one of the repositories"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("without %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "The model.") || strings.Contains(out.String(), v.secrets["HANDRAIL_LOG_KEY"]) {
		t.Errorf("it tries the model all the same, or shows a secret:\n%s", out.String())
	}
}

// TestFirst: the first comment goes where an issue can be opened.
func TestFirst(t *testing.T) {
	t.Parallel()
	a := (&Verb{}).after(nil, granted.App{}, files{}, nil)
	for want, list := range map[string][]granted.Repository{
		"https://github.com/kim/b/issues/new": {{Name: "kim/a"}, {Name: "kim/b", Issues: true}},
		"in a pull request":                   {{Name: "kim/a"}},
		"in one of the repositories":          nil,
	} {
		if got := a.first(list); !strings.Contains(got, want) {
			t.Errorf("%v: %s", list, got)
		}
	}
}
