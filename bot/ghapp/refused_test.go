package ghapp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// What is wrong with the bot as a whole says nothing about a person or a
// request: a key that is refused, an App that is suspended, an address where
// there is no GitHub.
func TestRefusedKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>Sign in</html>"))
	}))
	t.Cleanup(page.Close)
	app := w.gh.App()
	token, err := w.gh.Token("kim")
	if err != nil {
		t.Fatal(err)
	}
	before := w.client
	if _, err := before.Repo(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]ghapp.Config{
		"another App's key":     {APIURL: w.gh.URL(), AppID: app.ID + 1, PrivateKey: app.Key},
		"no GitHub there":       {APIURL: elsewhere.URL, AppID: app.ID, PrivateKey: app.Key},
		"a page for people":     {APIURL: page.URL, AppID: app.ID, PrivateKey: app.Key},
		"an unknown token":      {APIURL: w.gh.URL(), Token: "ghp_nobodyknowsthistokenofours0000000000"},
		"a token, no GitHub":    {APIURL: elsewhere.URL, Token: token},
		"a token, and no API":   {APIURL: page.URL, Token: token},
		"a token, a wrong path": {APIURL: elsewhere.URL + "/api/v3", Token: token},
		"suspended":             {APIURL: w.gh.URL(), AppID: app.ID, PrivateKey: app.Key},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Spacing, cfg.Backoff = -1, 1
			a, err := ghapp.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if name == "suspended" {
				w.gh.Suspend(w.inst, true)
				defer w.gh.Suspend(w.inst, false)
				if _, err := before.Repo(t.Context()); ghapp.KindOf(err) != ghapp.Temporary {
					t.Errorf("with a token from before: %v, want an error that may pass", err)
				}
			} else if err := a.Check(t.Context()); ghapp.KindOf(err) != ghapp.Temporary || err == nil {
				t.Errorf("Check: %v, want an error that may pass", err)
			}
			at := thread.Ref{Owner: "acme", Repo: "widget", Number: 1}
			if _, err := a.Installed(t.Context(), at); err == nil && name != "suspended" {
				t.Error("Installed: the repository passes for gone, or for there")
			}
			c, err := a.For(t.Context(), at, w.inst)
			if err != nil {
				t.Fatal(err)
			}
			who, err := c.Actor(context.Background(), "kim")
			if err == nil || ghapp.KindOf(err) != ghapp.Temporary || who.Lookup == policy.NotFound {
				t.Errorf("Actor: %+v, %v, want an error that may pass", who, err)
			}
			_, err = c.Perform(t.Context(), ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: at, Body: "words"})
			if cfg.AppID != 0 && (err == nil || ghapp.KindOf(err) != ghapp.Temporary) {
				t.Errorf("a comment: %v, want an error that may pass", err)
			}
		})
	}
}

// The right key at the right address passes, and an installation that is gone
// is gone for good.
func TestInstallationIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.app.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if id, err := w.app.Installed(t.Context(), w.issue); err != nil || id != w.inst {
		t.Errorf("Installed: %d, %v, want %d", id, err, w.inst)
	}
	if id, err := w.app.Installed(t.Context(), thread.Ref{Owner: "acme", Repo: "nosuch", Number: 1}); err != nil || id != 0 {
		t.Errorf("Installed where it is not: %d, %v", id, err)
	}
	c, err := w.app.For(t.Context(), thread.Ref{Owner: "acme", Repo: "widget", Number: 1}, 999999)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Repo(t.Context()); err == nil || ghapp.KindOf(err) != ghapp.Permanent {
		t.Errorf("a repository of no installation: %v, want an error for good", err)
	}
}
