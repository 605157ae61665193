package ghapp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// tokenWatch notes what the tokens are asked for.
type tokenWatch struct {
	next http.RoundTripper

	mu    sync.Mutex
	asked []string
}

func (w *tokenWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/access_tokens") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var in struct {
			Repositories []string          `json:"repositories"`
			Permissions  map[string]string `json:"permissions"`
		}
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		var list []string
		for name, level := range in.Permissions {
			list = append(list, name+":"+level)
		}
		slices.Sort(list)
		w.mu.Lock()
		w.asked = append(w.asked, strings.Join(in.Repositories, ",")+" "+strings.Join(list, " "))
		w.mu.Unlock()
	}
	return w.next.RoundTrip(r)
}

// TestLeastRights: the token of each call is for one repository and can do what
// that call needs; the hub refuses whatever needs more.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	watch := &tokenWatch{}
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) {
		watch.next = ac.Transport
		ac.Transport = watch
	})
	ctx := t.Context()
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"read an issue", func() error { _, err := w.client.Issue(ctx, w.issue); return err }, []string{"widget issues:read metadata:read pull_requests:read"}},
		{"again", func() error { _, err := w.client.Issue(ctx, w.issue); return err }, nil},
		{"read a role", func() error { _, err := w.client.Actor(ctx, "kim"); return err }, []string{"widget metadata:read"}},
		{"comment", func() error {
			_, err := w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
			return err
		}, []string{"widget issues:write metadata:read pull_requests:write"}},
		{"fetch", func() error {
			_, _, err := w.client.GitAuth(ctx, w.gh.URL()+"/acme/widget", ghapp.GitFetch)
			return err
		}, []string{"widget contents:read metadata:read"}},
		{"push", func() error {
			_, _, err := w.client.GitAuth(ctx, w.gh.URL()+"/acme/widget", ghapp.GitPush)
			return err
		}, []string{"widget contents:write metadata:read"}},
	} {
		watch.asked = nil
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, watch.asked); diff != "" {
			t.Errorf("%s: tokens (-want +got):\n%s", step.name, diff)
		}
	}
	if _, _, err := w.client.GitAuth(ctx, w.gh.URL()+"/acme/widget", ghapp.GitPushWorkflows); ghapp.KindOf(err) != ghapp.Permanent {
		t.Errorf("a permission that the App was not given: %v", err)
	}
}
