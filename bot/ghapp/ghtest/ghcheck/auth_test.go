package ghcheck

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"
	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
)

// appJWT signs a token of the app with any claims.
func appJWT(t *testing.T, s *Server, claims jwt.MapClaims) string {
	t.Helper()
	key, err := jwt.ParseRSAPrivateKeyFromPEM(s.App().Key)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func goodClaims(s *Server) jwt.MapClaims { return claimsAt(s, time.Now()) }

func claimsAt(s *Server, now time.Time) jwt.MapClaims {
	return jwt.MapClaims{"iss": s.App().ID, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(5 * time.Minute).Unix()}
}

func client(t *testing.T, s *Server, token string) *github.Client {
	t.Helper()
	c, err := github.NewClient(&http.Client{Transport: &http.Transport{}}).WithAuthToken(token).WithEnterpriseURLs(s.URL()+"/api/v3/", s.URL()+"/api/uploads/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Client().CloseIdleConnections)
	return c
}

func installationToken(t *testing.T, s *Server, opts *github.InstallationTokenOptions) string {
	t.Helper()
	ctx := context.Background()
	app := client(t, s, appJWT(t, s, goodClaims(s)))
	in, _, err := app.Apps.FindRepositoryInstallation(ctx, "acme", "widget")
	if err != nil {
		t.Fatal(err)
	}
	tok, _, err := app.Apps.CreateInstallationToken(ctx, in.GetID(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return tok.GetToken()
}

func status(err error) int {
	var e *github.ErrorResponse
	if errors.As(err, &e) {
		return e.Response.StatusCode
	}
	return 0
}

func TestAppToken(t *testing.T) {
	t.Parallel()
	s := start(t)
	now := time.Now()
	tests := []struct {
		name   string
		change func(jwt.MapClaims)
		want   string // part of the refusal
	}{
		{"good", func(jwt.MapClaims) {}, ""},
		{"client id", func(c jwt.MapClaims) { c["iss"] = s.App().ClientID }, ""},
		{"issued in the future", func(c jwt.MapClaims) { c["iat"] = now.Add(time.Minute).Unix() }, "'iat'"},
		{"no time of issue", func(c jwt.MapClaims) { delete(c, "iat") }, "'iat'"},
		{"expired", func(c jwt.MapClaims) { c["exp"] = now.Add(-time.Second).Unix() }, "'exp'"},
		{"lives too long", func(c jwt.MapClaims) { c["exp"] = now.Add(11 * time.Minute).Unix() }, "too far in the future"},
		{"another app", func(c jwt.MapClaims) { c["iss"] = 1 }, "Integration not found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			claims := goodClaims(s)
			tt.change(claims)
			app, _, err := client(t, s, appJWT(t, s, claims)).Apps.Get(context.Background(), "")
			if tt.want == "" {
				if err != nil || app.GetSlug() != "handrail" {
					t.Errorf("app = %v, %v", app, err)
				}
				return
			}
			if status(err) != 401 || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v", err)
			}
		})
	}
	t.Run("another key", func(t *testing.T) {
		key, err := rsa.GenerateKey(rand.Reader, 1024)
		if err != nil {
			t.Fatal(err)
		}
		forged, err := jwt.NewWithClaims(jwt.SigningMethodRS256, goodClaims(s)).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := client(t, s, forged).Apps.Get(context.Background(), ""); status(err) != 401 {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("HMAC with the public key", func(t *testing.T) {
		forged, err := jwt.NewWithClaims(jwt.SigningMethodHS256, goodClaims(s)).SignedString([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := client(t, s, forged).Apps.Get(context.Background(), ""); status(err) != 401 {
			t.Errorf("err = %v", err)
		}
	})
}

func TestInstallationTokens(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	s := startWith(t, ghtest.Config{Dir: t.TempDir(), Clock: clock})
	if _, err := s.AddRepo("acme", "secret", ghtest.Source{Private: true}); err != nil {
		t.Fatal(err)
	}
	one := client(t, s, installationToken(t, s, &github.InstallationTokenOptions{Repositories: []string{"widget"}}))
	if _, _, err := one.Repositories.Get(ctx, "acme", "widget"); err != nil {
		t.Error(err)
	}
	if _, _, err := one.Repositories.Get(ctx, "acme", "secret"); status(err) != 404 {
		t.Errorf("out of scope: %v", err)
	}
	read := client(t, s, installationToken(t, s, &github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Issues: github.String("read")}}))
	if _, _, err := read.Issues.Create(ctx, "acme", "widget", &github.IssueRequest{Title: github.String("x")}); status(err) != 403 {
		t.Errorf("without permission: %v", err)
	}
	app := client(t, s, appJWT(t, s, goodClaims(s)))
	in, _, err := app.Apps.FindRepositoryInstallation(ctx, "acme", "widget")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*github.InstallationTokenOptions{
		"no such repository": {Repositories: []string{"nope"}},
		"more than granted":  {Permissions: &github.InstallationPermissions{Workflows: github.String("write")}},
	} {
		if _, _, err := app.Apps.CreateInstallationToken(ctx, in.GetID(), o); status(err) != 422 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := app.Repositories.Get(ctx, "acme", "widget"); status(err) != 403 {
		t.Errorf("the app itself read a repository: %v", err)
	}
	mu.Lock()
	now = now.Add(time.Hour + time.Second)
	mu.Unlock()
	if _, _, err := one.Repositories.Get(ctx, "acme", "widget"); status(err) != 401 {
		t.Errorf("after an hour: %v", err)
	}
	if err := s.Uninstall(testRepo, true); err != nil {
		t.Fatal(err)
	}
	app = client(t, s, appJWT(t, s, claimsAt(s, clock())))
	if _, _, err := app.Apps.FindRepositoryInstallation(ctx, "acme", "widget"); status(err) != 404 {
		t.Errorf("uninstalled: %v", err)
	}
}

// rawRequest is a request that no library would send.
type rawRequest struct{ method, path, token, body string }

func (r rawRequest) send(t *testing.T, s *Server) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.method, s.URL()+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestContract: what GitHub would let pass in silence, or could not have
// answered, fails here and is remembered.
func TestContract(t *testing.T) {
	t.Parallel()
	s, err := New(ghtest.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.AddUser("kim", "write")
	if _, err := s.AddRepo("acme", "widget", ghtest.Source{}); err != nil {
		t.Fatal(err)
	}
	tok, err := s.Token("kim")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, method, path, body string
		status, violations       int
	}{
		{"good", "POST", "/repos/acme/widget/issues", `{"title":"x"}`, 201, 0},
		{"typo in a field", "POST", "/repos/acme/widget/issues", `{"title":"x","boddy":"y"}`, 500, 1},
		{"typo in the path", "GET", "/repos/acme/widget/isues", "", 404, 1},
		{"wrong method", "PUT", "/repos/acme/widget/issues/1", `{}`, 404, 1},
		{"bad parameter", "GET", "/repos/acme/widget/issues?per_page=many", "", 500, 1},
		{"required field missing", "POST", "/repos/acme/widget/issues", `{}`, 422, 0},
		{"value not in the list", "POST", "/repos/acme/widget/issues/1/reactions", `{"content":"party"}`, 422, 0},
		{"too long", "POST", "/repos/acme/widget/issues/1/comments", `{"body":"` + strings.Repeat("x", 65537) + `"}`, 422, 0},
		{"as long as may be", "POST", "/repos/acme/widget/issues/1/comments", `{"body":"` + strings.Repeat("é", 65536) + `"}`, 201, 0},
		{"blank", "POST", "/repos/acme/widget/issues/1/comments", `{"body":" "}`, 422, 0},
		{"no such issue", "POST", "/repos/acme/widget/issues/9/comments", `{"body":"x"}`, 404, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.Violations())
			code, body := rawRequest{tt.method, tt.path, tok, tt.body}.send(t, s)
			if code != tt.status || len(s.Violations())-before != tt.violations {
				t.Errorf("status %d, %d violations: %s", code, len(s.Violations())-before, body)
			}
			var e struct{ Message string }
			if err := json.Unmarshal([]byte(body), &e); err != nil || (code >= 400 && e.Message == "") {
				t.Errorf("an answer not in GitHub's form: %q", body)
			}
		})
	}
	if code, _ := (rawRequest{"POST", "/repos/acme/widget/issues", "", `{"title":"x"}`}).send(t, s); code != 401 {
		t.Errorf("without a token: %d", code)
	}
	if code, _ := (rawRequest{"GET", "/repos/acme/widget", "ghp_wrong", ""}).send(t, s); code != 401 {
		t.Errorf("with a wrong token: %d", code)
	}
}

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	ref, err := s.OpenIssue(testRepo, "kim", "t", "b")
	if err != nil {
		t.Fatal(err)
	}
	tok, err := s.Token("kim")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(tag string) (int, http.Header) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL()+"/repos/acme/widget/issues/1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "token "+tok)
		req.Header.Set("If-None-Match", tag)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode, resp.Header
	}
	_, h := ask("")
	left, err := strconv.Atoi(h.Get("X-Ratelimit-Remaining"))
	if err != nil {
		t.Fatal(err)
	}
	code, h2 := ask(h.Get("ETag"))
	if code != 304 {
		t.Errorf("unchanged: %d", code)
	}
	if _, h3 := ask(""); h3.Get("X-Ratelimit-Remaining") != strconv.Itoa(left-1) {
		t.Errorf("remaining %d, after an unchanged and a whole answer %s", left, h3.Get("X-Ratelimit-Remaining"))
	}
	if _, err := s.Comment(ref, "kim", "x"); err != nil {
		t.Fatal(err)
	}
	if code, _ := ask(h2.Get("ETag")); code != 200 {
		t.Errorf("changed: %d", code)
	}
}
