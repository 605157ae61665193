package ghapp_test

import (
	"errors"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestSibling: a repository is beside another one if the same installation has it, under its
// present name, and both are as they are now.
func TestSibling(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	for owner, name := range map[string]string{"acme": "lib", "other": "lib"} {
		_, err := w.gh.AddRepo(owner, name, ghtest.Source{Files: map[string]string{"words.txt": "Good day\n"}})
		must(t, err)
	}
	lib := thread.Ref{Owner: "acme", Repo: "lib"}
	s, err := w.app.Sibling(t.Context(), w.issue, lib)
	if err != nil || s.Repo.Name != "acme/lib" || s.Own.Name != repo || s.Installation != w.inst || s.Client == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	must(t, w.gh.Hide(repo, true))
	if s, err = w.app.Sibling(t.Context(), w.issue, lib); err != nil || s.Repo.Reach >= s.Own.Reach {
		t.Errorf("this one is private now: %+v, %v", s, err)
	}
	must(t, w.gh.Rename("acme/lib", "words"))
	for _, ref := range []thread.Ref{{Owner: "other", Repo: "lib"}, {Owner: "acme", Repo: "nothing"}, lib} {
		if s, err := w.app.Sibling(t.Context(), w.issue, ref); !errors.Is(err, ghapp.ErrNotFound) || s.Client != nil {
			t.Errorf("%s: %+v, %v", ref.Repository(), s, err)
		}
	}
	must(t, w.gh.Uninstall("acme/words", true))
	if s, err := w.app.Sibling(t.Context(), w.issue, thread.Ref{Owner: "acme", Repo: "words"}); !errors.Is(err, ghapp.ErrNotFound) {
		t.Errorf("uninstalled: %+v, %v", s, err)
	}
}

// TestSiblingWithAToken: without an App, all repositories of the token are beside each other.
func TestSiblingWithAToken(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	token, err := w.gh.Token("kim")
	must(t, err)
	app, err := ghapp.New(ghapp.Config{Token: token, APIURL: w.gh.URL() + "/api/v3/", Spacing: -1, Backoff: time.Millisecond, Transport: w.rt})
	must(t, err)
	_, err = w.gh.AddRepo("acme", "lib", ghtest.Source{Files: map[string]string{"words.txt": "Good day\n"}})
	must(t, err)
	s, err := app.Sibling(t.Context(), w.issue, thread.Ref{Owner: "acme", Repo: "lib"})
	if err != nil || s.Repo.Name != "acme/lib" || s.Installation != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
