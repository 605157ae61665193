package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// github is the web flow of GitHub for one account.
type github struct {
	account   int64
	challenge string
	exchanged int
	tokens    []string
}

func (g *github) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/login/oauth/authorize":
		q := r.URL.Query()
		g.challenge = q.Get("code_challenge")
		if q.Get("client_id") != "Iv1.app" || q.Get("code_challenge_method") != "S256" {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c0de"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	case "/login/oauth/access_token":
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if r.FormValue("code") != "c0de" || r.FormValue("client_secret") != "the secret" || base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge {
			fmt.Fprint(w, `{"error":"bad_verification_code"}`)
			return
		}
		g.exchanged++
		fmt.Fprint(w, `{"access_token":"ghu_token","token_type":"bearer"}`)
	case "/user":
		g.tokens = append(g.tokens, r.Header.Get("Authorization"))
		_ = json.NewEncoder(w).Encode(map[string]any{"id": g.account, "login": "kim"})
	}
}

// loggedIn starts a dashboard with a login for an account, and logs it in.
func loggedIn(t *testing.T, w *world, change func(*Config)) (*http.Client, string, *github) {
	t.Helper()
	gh := &github{account: 7}
	at := httptest.NewServer(gh)
	t.Cleanup(at.Close)
	key, err := secret.DeriveKey("a secret", "dashboard cookies")
	if err != nil {
		t.Fatal(err)
	}
	cfg := w.config()
	cfg.Key, cfg.Rights, cfg.Command = key, w.right, w.order
	cfg.Login = &Login{ClientID: "Iv1.app", Secret: "the secret", Web: at.URL, API: at.URL, Client: at.Client()}
	if change != nil {
		change(&cfg)
	}
	var s *Server
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	cfg.URL = web.URL
	if s, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}, web.URL, gh
}

// TestLogin: a login goes through GitHub with a state and a proof; the token is used
// once, and the cookie holds a sealed number.
func TestLogin(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	w.rights[7] = map[string]string{"team/app": "read"}
	c, at, gh := loggedIn(t, w, nil)
	if status, body := get(t, c, at+"/s/sample"); status != http.StatusUnauthorized || !strings.Contains(body, "/login?back=%2Fs%2Fsample") {
		t.Errorf("without a login: %d %s", status, body)
	}
	status, body := get(t, c, at+"/login?back=/s/sample")
	if status != http.StatusOK || !strings.Contains(body, "Add overflows") || gh.exchanged != 1 || !slices.Equal(gh.tokens, []string{"Bearer ghu_token"}) {
		t.Errorf("after the login: %d, %+v", status, gh)
	}
	home, _ := url.Parse(at)
	for _, k := range c.Jar.Cookies(home) {
		raw, _ := base64.RawURLEncoding.DecodeString(k.Value)
		if strings.Contains(string(raw), "ghu_token") || strings.Contains(string(raw), "account") {
			t.Errorf("cookie %s can be read", k.Name)
		}
	}
	other := &http.Client{} // a browser that did not begin the login
	if status, _ := get(t, other, at+"/login/done?code=c0de&state=x"); status != http.StatusForbidden || gh.exchanged != 1 {
		t.Errorf("a foreign login: %d", status)
	}
	begun := &http.Client{Jar: c.Jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get(t, begun, at+"/login")
	if status, _ := get(t, begun, at+"/login/done?code=c0de&state=x"); status != http.StatusForbidden || gh.exchanged != 1 {
		t.Errorf("a login with the state of another one: %d", status)
	}
	w.mu.Lock()
	w.now = w.now.Add(loginLasts + time.Minute)
	w.mu.Unlock()
	if status, _ := get(t, c, at+"/s/sample"); status != http.StatusUnauthorized {
		t.Errorf("a login that is over: %d", status)
	}
}

func TestLoginReturnsHere(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/s/a?after=200": "/s/a?after=200", "": "/", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/", "javascript:alert(1)": "/", "/%2f/evil.example": "/", "evil": "/",
	} {
		if got := ownPath(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// TestRights: a session exists for those who may read its repository on GitHub, and for
// no other account.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	w.others()
	w.rights[7] = map[string]string{"team/app": "write", "team/site": "none"}
	c, at, gh := loggedIn(t, w, nil)
	_, body := get(t, c, at+"/login")
	if !strings.Contains(body, "team/app#12") || strings.Contains(body, "team/site") || strings.Contains(body, "secret/vault") {
		t.Error("the list does not follow the rights")
	}
	for _, path := range []string{"/s/private", "/s/private/events?after=0", "/s/private/text/1", "/s/private/diff", "/s/question"} {
		status, one := get(t, c, at+path)
		_, none := get(t, c, at+strings.Replace(path, "private", "missing", 1))
		if status != http.StatusNotFound || strings.Contains(path, "private") && one != none {
			t.Errorf("%s: %d, and the page differs from that of a missing session: %t", path, status, one != none)
		}
	}
	if status, _ := post(t, c, at+"/s/private/command", url.Values{"do": {"stop"}}, nil); status != http.StatusNotFound || len(w.orders) > 0 {
		t.Errorf("a command for a session that may not be read: %d", status)
	}
	gh.account = 99 // GitHub fails for this one
	jar, _ := cookiejar.New(nil)
	fails := &http.Client{Jar: jar}
	if status, body := get(t, fails, at+"/login"); status != http.StatusBadGateway || strings.Contains(body, "team/app") {
		t.Errorf("a failed lookup: %d", status)
	}
}

// TestRightsAreFresh: views remember rights for at most a minute, and an action asks.
func TestRightsAreFresh(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	w.rights[7] = map[string]string{"team/app": "write"}
	c, at, _ := loggedIn(t, w, nil)
	get(t, c, at+"/login?back=/s/sample")
	before := w.asked
	get(t, c, at+"/s/sample")
	if w.asked != before {
		t.Errorf("a second view asked %d times", w.asked-before)
	}
	form := url.Values{"do": {"approve k7m2p4xa"}}
	if status, _ := post(t, c, at+"/s/sample/command", form, nil); status != http.StatusOK || len(w.orders) != 1 || w.orders[0].By.ID != 7 {
		t.Fatalf("status %d, orders %+v", status, w.orders)
	}
	w.mu.Lock()
	w.rights[7] = map[string]string{"team/app": "read"}
	w.mu.Unlock()
	if status, _ := post(t, c, at+"/s/sample/command", form, nil); status != http.StatusForbidden || len(w.orders) != 1 {
		t.Errorf("an action after the right was lost: %d", status)
	}
	w.mu.Lock()
	w.rights[7], w.now = nil, w.now.Add(2*time.Minute)
	w.mu.Unlock()
	if status, _ := get(t, c, at+"/s/sample"); status != http.StatusNotFound {
		t.Errorf("a view two minutes after the right was lost: %d", status)
	}
}

// TestStreamFollowsTheRight: a stream ends when its viewer may no longer read.
func TestStreamFollowsTheRight(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	w.rights[7] = map[string]string{"team/app": "read"}
	c, at, _ := loggedIn(t, w, func(cfg *Config) { cfg.Beat = 20 * time.Millisecond })
	get(t, c, at+"/login")
	from := listen(t.Context(), t, c, at+"/s/sample/events?after=0", "")
	<-from
	w.mu.Lock()
	w.rights[7], w.now = nil, w.now.Add(2*time.Minute)
	w.mu.Unlock()
	for range from {
		continue // until it ends
	}
}

// TestWhoAnswers: the list of approvals holds what its viewer may answer, and a reader
// gets no buttons.
func TestWhoAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	w.rights[7] = map[string]string{"team/app": "read"}
	var asked []string
	c, at, _ := loggedIn(t, w, func(cfg *Config) {
		cfg.Answers = func(_ context.Context, _ *store.Session, by policy.Actor, a session.Asked) (bool, error) {
			asked = append(asked, a.ID)
			return policy.MayPush(by), nil
		}
	})
	_, body := get(t, c, at+"/login?back=/approvals")
	if strings.Contains(body, "rm -rf build") || !slices.Equal(asked, []string{"k7m2p4xa"}) {
		t.Error("a reader sees requests that others answer")
	}
	if _, body := get(t, c, at+"/s/sample"); strings.Contains(body, "<button class=\"yes\"") {
		t.Error("a reader has buttons")
	}
	w.mu.Lock()
	w.rights[7], w.now = map[string]string{"team/app": "write"}, w.now.Add(2*time.Minute)
	w.mu.Unlock()
	if _, body := get(t, c, at+"/approvals"); !strings.Contains(body, "rm -rf build") || !strings.Contains(body, `value="approve k7m2p4xa"`) {
		t.Error("a writer does not see the request")
	}
}

// TestOperators: a page for operators does not exist for other accounts.
func TestOperators(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	w.rights[7] = map[string]string{"team/app": "admin"}
	for _, operators := range [][]int64{nil, {7}} {
		sheet := sampleSheet
		sheet.Limited, sheet.Operators = true, operators
		c, at, _ := loggedIn(t, w, func(cfg *Config) { cfg.Sheets = []Sheet{sheet} })
		_, body := get(t, c, at+"/login")
		status, _ := get(t, c, at+"/page/configuration")
		tested, _ := post(t, c, at+"/page/configuration/test", url.Values{"text": {"mode: cod\n"}}, nil)
		want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[operators != nil]
		if status != want || tested != want || strings.Contains(body, "/page/configuration") != (operators != nil) {
			t.Errorf("operators %v: page %d, test %d", operators, status, tested)
		}
	}
}

// TestSheet: a text is checked while it is written, with script and without.
func TestSheet(t *testing.T) {
	t.Parallel()
	cfg := newWorld().config()
	cfg.Sheets = []Sheet{sampleSheet}
	_, web := start(t, cfg)
	form := url.Values{"text": {"mode: cod\n"}}
	if _, body := post(t, web.Client(), web.URL+"/page/configuration/test", form, http.Header{"Accept": {"text/plain"}}); body != `mode: "cod" is no mode; did you mean code?` {
		t.Errorf("by script: %q", body)
	}
	if _, body := post(t, web.Client(), web.URL+"/page/configuration/test", form, nil); !strings.Contains(body, "is no mode; did you mean code?") || !strings.Contains(body, "mode: cod") {
		t.Errorf("by form: %q", body)
	}
}
