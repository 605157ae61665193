package ghapp

import (
	"errors"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/thread"
)

// TestSite: an API has its pages, its repositories and its pictures on one host,
// which is the API's own on an enterprise server and one without "api." elsewhere.
func TestSite(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]string{
		"":                                  "https://github.com/acme/widget",
		"https://api.github.com":            "https://github.com/acme/widget",
		"https://code.example.org/api/v3":   "https://code.example.org/acme/widget",
		"https://code.example.org/api/v3/":  "https://code.example.org/acme/widget",
		"http://code.example.org:81/api/v3": "http://code.example.org:81/acme/widget",
		"https://api.example.org/api/v3/":   "https://api.example.org/acme/widget",
		"https://api.acme.ghe.com/":         "https://acme.ghe.com/acme/widget",
		"http://127.0.0.1:8080":             "http://127.0.0.1:8080/acme/widget",
	} {
		a, err := New(Config{APIURL: api, Token: "ghp_canary"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := a.For(t.Context(), thread.Ref{Owner: "acme", Repo: "widget", Number: 1}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.site.repository("acme", "widget"); got != want {
			t.Errorf("API %q: the repository is at %s, want %s", api, got, want)
		}
		if _, token, err := c.GitAuth(t.Context(), want+".git", GitFetch); err != nil || token != "ghp_canary" {
			t.Errorf("API %q: no token for git at %s.git: %v", api, want, err)
		}
		elsewhere := strings.Replace(want, "://", "://x.", 1)
		if _, _, err := c.GitAuth(t.Context(), elsewhere, GitFetch); !errors.Is(err, errOtherHost) {
			t.Errorf("API %q: a token for git at %s: %v", api, elsewhere, err)
		}
		const other = "/other/repo/issues/5"
		text := "see " + strings.TrimSuffix(want, "/acme/widget") + other
		if got := c.outgoing(Write{Kind: WriteComment, Body: text}).Body; got == text || !strings.Contains(got, "`") {
			t.Errorf("API %q: %q is posted as %q", api, text, got)
		}
	}
}
