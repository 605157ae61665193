package ghtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// grant is a login that GitHub has confirmed, and whose code was not exchanged yet.
type grant struct{ login, challenge string }

// serveLogin serves the web flow of the app. The parameter login, which suggests an
// account on GitHub, chooses it here.
func (s *Server) serveLogin(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/login/oauth/authorize":
		q := r.URL.Query()
		back, err := url.Parse(q.Get("redirect_uri"))
		if err != nil || q.Get("client_id") != s.App().ClientID || q.Get("code_challenge_method") != "S256" {
			http.Error(w, "the request to log in is wrong", http.StatusBadRequest)
			return true
		}
		code := rand.Text()
		s.grants.Store(code, grant{q.Get("login"), q.Get("code_challenge")})
		back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	case "/login/oauth/access_token":
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		answer := object{"error": "bad_verification_code"}
		if g, ok := s.grants.LoadAndDelete(r.PostFormValue("code")); ok {
			sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
			of, _ := g.(grant)
			s.mu.Lock()
			proof := base64.RawURLEncoding.EncodeToString(sum[:])
			if u := s.Users[strings.ToLower(of.login)]; u != nil && proof == of.challenge {
				answer = object{"access_token": s.Keys.NewToken(u, "ghu_").Value, "token_type": "bearer", "scope": ""}
			}
			s.mu.Unlock()
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			s.log.Debug("write answer", "err", err)
		}
	default:
		return false
	}
	return true
}
