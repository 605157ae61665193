package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/policy"
)

// viewer is the account behind a request.
type viewer struct {
	ID  int64 // of the account; 0 without a login
	All bool  // sees every session: on loopback, or with a code
	May bool  // has buttons
	// Login is the account's name, as GitHub has it now; "" until rights were read.
	Login string
}

// cookieName is the name of the cookie with the login. The browser accepts the prefix
// only over TLS, for this host.
func (s *Server) cookieName(name string) string {
	if s.home.Scheme == "https" {
		return "__Host-handrail-" + name
	}
	return "handrail-" + name
}

// ticket is the sealed content of a cookie.
type ticket struct {
	Account int64     `json:"account,omitempty"`
	Until   time.Time `json:"until"`
	State   string    `json:"state,omitempty"`
	Proof   string    `json:"proof,omitempty"` // PKCE verifier
	Back    string    `json:"back,omitempty"`  // path to return to
}

func (s *Server) setCookie(w http.ResponseWriter, name string, t ticket) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	sealed, err := s.cfg.Key.Seal(text, "cookie "+name)
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name:     s.cookieName(name),
		Value:    base64.RawURLEncoding.EncodeToString(sealed),
		Path:     "/",
		MaxAge:   int(t.Until.Sub(s.cfg.Now()).Seconds()),
		HttpOnly: true,
		Secure:   s.home.Scheme == "https",
		SameSite: http.SameSiteLaxMode,
	})
	return nil
}

// cookie opens a cookie. It reports false if it is missing, forged or expired.
func (s *Server) cookie(r *http.Request, name string) (t ticket, ok bool) {
	c, err := r.Cookie(s.cookieName(name))
	if err != nil {
		return t, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return t, false
	}
	text, err := s.cfg.Key.Open(sealed, "cookie "+name)
	if err != nil || json.Unmarshal(text, &t) != nil {
		return t, false
	}
	return t, s.cfg.Now().Before(t.Until)
}

func (s *Server) dropCookie(w http.ResponseWriter, name string) {
	http.SetCookie(w, &http.Cookie{
		Name:     s.cookieName(name),
		Path:     "/",
		MaxAge:   -1,
		HttpOnly: true,
		Secure:   s.home.Scheme == "https",
	})
}

// viewer returns the viewer of a request. It reports false if the request needs a login.
func (s *Server) viewer(r *http.Request) (viewer, bool) {
	switch {
	case s.cfg.Login != nil:
		t, ok := s.cookie(r, "login")
		return viewer{ID: t.Account, May: s.cfg.Command != nil}, ok && t.Account != 0 //control:dashboard-needs-login
	case s.cfg.local:
		_, ok := s.cookie(r, "open")
		return viewer{All: true, May: s.cfg.Command != nil}, ok //control:dashboard-needs-code
	}
	return viewer{All: true}, true
}

// oneTime is a code that opens the dashboard once.
type oneTime struct {
	mu   sync.Mutex
	code string
}

func (o *oneTime) spend(code string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.code == "" || subtle.ConstantTimeCompare([]byte(o.code), []byte(code)) != 1 {
		return false
	}
	o.code = "" //control:dashboard-code-once
	return true
}

// localLogin is the time that a spent code opens the dashboard of a local session.
const localLogin = 12 * time.Hour

// open exchanges the one-time code for a cookie.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	if !s.code.spend(r.URL.Query().Get("code")) {
		s.problem(w, viewer{}, http.StatusForbidden, "This code was used before, or is wrong.")
		return
	}
	t := ticket{State: rand.Text(), Until: s.cfg.Now().Add(localLogin)}
	if err := s.setCookie(w, "open", t); err != nil {
		s.problem(w, viewer{}, http.StatusInternalServerError, "That did not work.")
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

type rightKey struct {
	account    int64
	repository string
}

type right struct {
	actor policy.Actor
	at    time.Time
}

// rights remembers rights for a short time.
type rights struct {
	mu    sync.Mutex
	known map[rightKey]right
}

const (
	rightsAge = time.Minute // maximum age of remembered rights
	maxRights = 50_000
)

// of returns the viewer's rights in a repository. Views take remembered ones; fresh asks
// GitHub. A failure is an error and grants nothing.
func (s *Server) of(ctx context.Context, v viewer, repository string, fresh bool) (policy.Actor, error) {
	k, now := rightKey{v.ID, repository}, s.cfg.Now()
	s.rights.mu.Lock()
	known, ok := s.rights.known[k]
	s.rights.mu.Unlock()
	if ok && !fresh && now.Sub(known.at) < rightsAge { //control:dashboard-rights-age
		return known.actor, nil
	}
	actor, err := s.cfg.Rights(ctx, v.ID, repository)
	if err != nil {
		return policy.Actor{}, err
	}
	if actor.ID != v.ID {
		actor = policy.Actor{Lookup: policy.NotFound}
	}
	s.rights.mu.Lock()
	defer s.rights.mu.Unlock()
	if len(s.rights.known) >= maxRights {
		clear(s.rights.known)
	}
	s.rights.known[k] = right{actor, now}
	return actor, nil
}

// reads reports whether a viewer may read a repository.
func (s *Server) reads(ctx context.Context, v viewer, repository string) (bool, error) {
	if v.All {
		return true, nil
	}
	actor, err := s.of(ctx, v, repository, false)
	if err != nil {
		return false, err
	}
	switch actor.Permission {
	case "read", "triage", "write", "maintain", "admin":
		return actor.Lookup == policy.Found, nil
	}
	return false, nil //control:dashboard-unreadable
}

// acts reports whether a viewer gets buttons in a repository. Each command is decided by
// the right to it.
func (s *Server) acts(ctx context.Context, v viewer, repository string) (bool, error) {
	if !v.May || v.All {
		return v.May, nil
	}
	actor, err := s.of(ctx, v, repository, false)
	return err == nil && policy.Insider(actor), err
}
