package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy/secret"
)

// Login is the web flow of a GitHub App.
type Login struct {
	ClientID string
	Secret   secret.Value
	Web      string // GitHub's web address, such as https://github.com
	API      string // GitHub's API, such as https://api.github.com
	Client   *http.Client
}

const (
	loginTime  = 10 * time.Minute // for the way to GitHub and back
	loginLasts = 8 * time.Hour
)

// login sends the browser to GitHub.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	t := ticket{
		State: rand.Text(),
		Proof: rand.Text() + rand.Text(),
		Back:  ownPath(r.URL.Query().Get("back")),
		Until: s.cfg.Now().Add(loginTime),
	}
	if err := s.setCookie(w, "state", t); err != nil {
		s.problem(w, viewer{}, http.StatusInternalServerError, "That did not work.")
		return
	}
	sum := sha256.Sum256([]byte(t.Proof))
	q := url.Values{
		"client_id":             {s.cfg.Login.ClientID},
		"redirect_uri":          {s.cfg.URL + "/login/done"},
		"state":                 {t.State},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(sum[:])},
		"code_challenge_method": {"S256"},
	}
	http.Redirect(w, r, s.cfg.Login.Web+"/login/oauth/authorize?"+q.Encode(), http.StatusSeeOther)
}

// ownPath returns a path of this dashboard, and no address of another site.
func ownPath(path string) string {
	u, err := url.Parse(path)
	own := err == nil && !u.IsAbs() && u.Host == "" && strings.HasPrefix(u.Path, "/") && !strings.HasPrefix(u.Path, "//")
	if !own || strings.Contains(path, `\`) { //control:dashboard-own-path
		return "/"
	}
	return u.RequestURI()
}

// loginDone takes the browser back from GitHub. Only the account's number is kept.
func (s *Server) loginDone(w http.ResponseWriter, r *http.Request) {
	t, ok := s.cookie(r, "state")
	s.dropCookie(w, "state")
	q := r.URL.Query()
	if !ok || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(t.State)) != 1 { //control:dashboard-state
		s.problem(w, viewer{}, http.StatusForbidden, "This login was not begun here, or took too long. Try again.")
		return
	}
	account, err := s.cfg.Login.account(r.Context(), q.Get("code"), t.Proof, s.cfg.URL+"/login/done")
	if err != nil {
		s.cfg.Log.WarnContext(r.Context(), "login failed", "err", err)
		s.problem(w, viewer{}, http.StatusForbidden, "GitHub did not confirm the login. Try again.")
		return
	}
	if err := s.setCookie(w, "login", ticket{Account: account, Until: s.cfg.Now().Add(loginLasts)}); err != nil {
		s.problem(w, viewer{}, http.StatusInternalServerError, "That did not work.")
		return
	}
	http.Redirect(w, r, t.Back, http.StatusSeeOther)
}

// logout forgets the login in this browser.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.dropCookie(w, "login")
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// account exchanges a code for the number of an account. The token is used once, and
// dropped.
func (l *Login) account(ctx context.Context, code, proof, back string) (int64, error) {
	form := url.Values{
		"client_id":     {l.ClientID},
		"client_secret": {l.Secret.Reveal()},
		"code":          {code},
		"code_verifier": {proof},
		"redirect_uri":  {back},
	}
	at, body := l.Web+"/login/oauth/access_token", strings.NewReader(form.Encode())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var token struct {
		Token secret.Value `json:"access_token"`
		Error string       `json:"error"`
	}
	if err := l.ask(req, &token); err != nil {
		return 0, fmt.Errorf("exchange code: %w", err)
	}
	if token.Token == "" {
		return 0, fmt.Errorf("exchange code: GitHub says %q", token.Error)
	}
	if req, err = http.NewRequestWithContext(ctx, http.MethodGet, l.API+"/user", nil); err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+token.Token.Reveal())
	var user struct{ ID int64 }
	if err := l.ask(req, &user); err != nil {
		return 0, fmt.Errorf("read account: %w", err)
	}
	if user.ID == 0 {
		return 0, errors.New("read account: the answer names none")
	}
	return user.ID, nil
}

func (l *Login) ask(req *http.Request, into any) error {
	req.Header.Set("Accept", "application/json")
	resp, err := l.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GitHub answers %s", resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
}
