package ghapp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/handrail-bot/handrail/bot/thread"
)

// TestGuardHoldsAlone: a request made for another address, with no redirect
// involved, is refused before a token is added.
func TestGuardHoldsAlone(t *testing.T) {
	t.Parallel()
	seen := 0
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen++ }))
	defer evil.Close()
	for _, api := range []string{"https://api.github.com/", "http://127.0.0.1:1/api/v3/"} {
		a, err := New(Config{APIURL: api, Token: "ghp_canary", Spacing: -1})
		if err != nil {
			t.Fatal(err)
		}
		c, err := a.For(t.Context(), thread.Ref{Owner: "acme", Repo: "widget", Number: 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			req, err := c.gh.NewRequest(method, evil.URL+"/repos/acme/widget", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.gh.Do(context.Background(), req, nil)
			if !errors.Is(err, errOtherHost) || KindOf(c.writeError("x", err)) != Permanent {
				t.Errorf("%s to another host: %v", method, err)
			}
		}
	}
	if seen != 0 {
		t.Errorf("the other host saw %d requests", seen)
	}
}
