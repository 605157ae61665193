package ghtest

import (
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v4"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// caller is the sender of a request: the app, an installation or a user. The zero
// caller is anonymous.
type caller struct {
	app  bool
	user *hub.User
	tok  *hub.Token
}

func (w *caller) inst() *hub.Installation {
	if w.tok == nil {
		return nil
	}
	return w.tok.Inst
}

func (w *caller) key() string {
	switch {
	case w.app:
		return "app"
	case w.inst() != nil:
		return "installation " + itoa(w.inst().ID)
	case w.user != nil:
		return "user " + w.user.Login
	}
	return "anonymous"
}

func badCredentials() error {
	return &hub.Refused{Status: http.StatusUnauthorized, Message: "Bad credentials"}
}

// authenticate reads an Authorization header. The caller holds the lock.
func (s *Server) authenticate(header string) (*caller, error) {
	if header == "" {
		return &caller{}, nil
	}
	scheme, value, _ := strings.Cut(header, " ")
	switch strings.ToLower(scheme) {
	case "basic":
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, badCredentials()
		}
		_, value, _ = strings.Cut(string(raw), ":")
	case "bearer", "token":
	default:
		return nil, badCredentials()
	}
	if tok := s.Keys.Tokens[value]; tok != nil {
		if !tok.Expires.IsZero() && !s.Clock().Before(tok.Expires) {
			return nil, badCredentials()
		}
		if tok.Inst != nil && tok.Inst.Suspended {
			return nil, &hub.Refused{Status: http.StatusForbidden, Message: "This installation has been suspended"}
		}
		return &caller{user: tok.User, tok: tok}, nil
	}
	if strings.Count(value, ".") == 2 && strings.EqualFold(scheme, "bearer") {
		if refused := checkJWT(value, s.appPublic, s.app, s.Clock()); refused != "" {
			return nil, &hub.Refused{Status: http.StatusUnauthorized, Message: refused}
		}
		return &caller{app: true}, nil
	}
	return nil, badCredentials()
}

// checkJWT applies GitHub's rules for an app's own token: RS256, issued in the past,
// valid for at most ten minutes. It returns GitHub's error message, or "" if the token
// is valid.
func checkJWT(value string, key *rsa.PublicKey, app App, now time.Time) string {
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation())
	if _, err := parser.ParseWithClaims(value, claims, func(*jwt.Token) (any, error) { return key, nil }); err != nil {
		return "A JSON web token could not be decoded"
	}
	iat, ok1 := claims["iat"].(float64)
	exp, ok2 := claims["exp"].(float64)
	iss := fmt.Sprint(claims["iss"])
	if f, ok := claims["iss"].(float64); ok {
		iss = strconv.FormatFloat(f, 'f', -1, 64)
	}
	switch {
	case iss != itoa(app.ID) && iss != app.ClientID:
		return "Integration not found"
	case !ok1 || int64(iat) > now.Unix():
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case !ok2 || int64(exp) <= now.Unix():
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case int64(exp) > now.Add(10*time.Minute).Unix():
		return "'Expiration time' claim ('exp') is too far in the future"
	}
	return ""
}

// authorize finds the repository of the call and checks the caller's permission. An
// invisible repository does not exist for the caller.
func (s *Server) authorize(c *call) error {
	o := c.op
	if o.app {
		if !c.who.app {
			return &hub.Refused{Status: http.StatusUnauthorized, Message: "A JSON web token could not be decoded"}
		}
	} else if c.who.app && c.op.route != "GET /rate_limit" {
		return &hub.Refused{Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
	}
	if _, ok := c.params["owner"]; ok {
		c.repo = s.FindRepo(c.params["owner"], c.params["repo"])
		if c.repo == nil || (!o.app && !c.who.visible(s.Hub, c.repo)) {
			return hub.NotFound()
		}
	}
	if o.need == "" || o.app {
		return nil
	}
	return c.permitted()
}

// permitted checks the permission or the role that the operation requires.
func (c *call) permitted() error {
	o := c.op
	if c.who.user == nil {
		if c.repo != nil && !strings.HasSuffix(o.need, ":write") {
			return nil
		}
		return &hub.Refused{Status: http.StatusUnauthorized, Message: "Requires authentication"}
	}
	if c.who.inst() != nil {
		write := strings.HasSuffix(o.need, ":write")
		if !hasPermission(c.who.tok.Perms, o.need) || (write && c.repo != nil && !c.who.covers(c.s.Hub, c.repo)) {
			return &hub.Refused{Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
		}
		return nil
	}
	if c.repo != nil && hub.RoleRank[c.repo.RoleOn(c.who.user)] < hub.RoleRank[o.role] {
		return &hub.Refused{Status: http.StatusForbidden, Message: "Must have " + o.role + " rights to Repository."}
	}
	return nil
}

// hasPermission reports whether perms satisfy need, such as "issues|pull_requests:write".
func hasPermission(perms map[string]string, need string) bool {
	names, level, _ := strings.Cut(need, ":")
	return slices.ContainsFunc(strings.Split(names, "|"), func(name string) bool {
		have := perms[name]
		return have == "write" || have == "admin" || (have == "read" && level == "read")
	})
}

func (w *caller) visible(h *hub.Hub, r *hub.Repo) bool {
	if in := w.inst(); in != nil {
		own := h.Installed(r) == in && (w.tok.Repos == nil || w.tok.Repos[r.ID])
		return own || !r.Private
	}
	return r.RoleOn(w.user) != "none"
}

// covers reports whether an installation token may change r.
func (w *caller) covers(h *hub.Hub, r *hub.Repo) bool {
	in := w.inst()
	return in == nil || (h.Installed(r) == in && (w.tok.Repos == nil || w.tok.Repos[r.ID]))
}

// spend counts a request against the caller's rate limit and sets the headers.
func (s *Server) spend(c *call) error {
	r, resource := s.Keys.Rate(c.who.key(), s.Clock()), "core"
	if c.op.route == searchRoute {
		r, resource = s.Keys.SearchRate(c.who.key(), s.Clock()), "search"
	}
	over := r.Used >= r.Limit
	if !over && c.op.route != "GET /rate_limit" {
		r.Used++
	}
	c.header.Set("X-Ratelimit-Limit", strconv.Itoa(r.Limit))
	c.header.Set("X-Ratelimit-Remaining", strconv.Itoa(max(0, r.Limit-r.Used)))
	c.header.Set("X-Ratelimit-Used", strconv.Itoa(r.Used))
	c.header.Set("X-Ratelimit-Reset", itoa(r.Reset.Unix()))
	c.header.Set("X-Ratelimit-Resource", resource)
	if over {
		return &hub.Refused{Status: http.StatusForbidden, Message: "API rate limit exceeded for " + c.who.key() + "."}
	}
	return nil
}

// refund undoes spend for a conditional request with an unchanged answer.
func (s *Server) refund(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if who, err := s.authenticate(r.Header.Get("Authorization")); err == nil && s.Route(r) != searchRoute {
		if st := s.Keys.Rate(who.key(), s.Clock()); st.Used > 0 {
			st.Used--
		}
	}
}
