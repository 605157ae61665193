package ghtest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

// caller is who sent a request: the app itself, an installation, a person, or
// nobody.
type caller struct {
	app  bool
	user *user
	tok  *token
}

func (w *caller) inst() *installation {
	if w.tok == nil {
		return nil
	}
	return w.tok.inst
}

func (w *caller) key() string {
	switch {
	case w.app:
		return "app"
	case w.inst() != nil:
		return "installation " + itoa(w.inst().id)
	case w.user != nil:
		return "user " + w.user.login
	}
	return "anonymous"
}

func badCredentials() error {
	return &apiError{status: http.StatusUnauthorized, message: "Bad credentials"}
}

// authenticate reads an Authorization header. The lock is held.
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
	if tok := s.tokens[value]; tok != nil {
		if !tok.expires.IsZero() && !s.clock().Before(tok.expires) {
			return nil, badCredentials()
		}
		if tok.inst != nil && tok.inst.suspended {
			return nil, &apiError{status: http.StatusForbidden, message: "This installation has been suspended"}
		}
		return &caller{user: tok.user, tok: tok}, nil
	}
	if strings.Count(value, ".") == 2 && strings.EqualFold(scheme, "bearer") {
		if refused := checkJWT(value, s.appPublic, s.app, s.clock()); refused != "" {
			return nil, &apiError{status: http.StatusUnauthorized, message: refused}
		}
		return &caller{app: true}, nil
	}
	return nil, badCredentials()
}

// checkJWT applies GitHub's rules for the token with which an app speaks for
// itself: RS256, issued in the past, at most ten minutes to live. It returns
// GitHub's words for what is wrong, or nothing.
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

// authorize finds the repository of the call and decides whether the caller
// may. What the caller may not see does not exist.
func (s *Server) authorize(c *call, o operation) error {
	if o.app {
		if !c.who.app {
			return &apiError{status: http.StatusUnauthorized, message: "A JSON web token could not be decoded"}
		}
	} else if c.who.app && c.op.OperationID != "rate-limit/get" {
		return &apiError{status: http.StatusForbidden, message: "Resource not accessible by integration"}
	}
	if _, ok := c.params["owner"]; ok {
		c.repo = s.findRepo(c.params["owner"], c.params["repo"])
		if c.repo == nil || (!o.app && !s.visible(c.who, c.repo)) {
			return notFound()
		}
	}
	if o.need == "" || o.app {
		return nil
	}
	if c.who.user == nil {
		if c.repo != nil && !strings.HasSuffix(o.need, ":write") {
			return nil
		}
		return &apiError{status: http.StatusUnauthorized, message: "Requires authentication"}
	}
	if c.who.inst() != nil {
		write := strings.HasSuffix(o.need, ":write")
		if !granted(c.who.tok.perms, o.need) || (write && c.repo != nil && !s.covers(c.who, c.repo)) {
			return &apiError{status: http.StatusForbidden, message: "Resource not accessible by integration"}
		}
		return nil
	}
	if c.repo != nil && roleRank[c.repo.roleOn(c.who.user)] < roleRank[o.role] {
		return &apiError{status: http.StatusForbidden, message: "Must have " + o.role + " rights to Repository."}
	}
	return nil
}

// granted reports whether perms hold need, such as "issues|pull_requests:write".
func granted(perms map[string]string, need string) bool {
	names, level, _ := strings.Cut(need, ":")
	return slices.ContainsFunc(strings.Split(names, "|"), func(name string) bool {
		have := perms[name]
		return have == "write" || have == "admin" || (have == "read" && level == "read")
	})
}

func (s *Server) visible(w *caller, r *repo) bool {
	if in := w.inst(); in != nil {
		own := s.installed(r) == in && (w.tok.repos == nil || w.tok.repos[r.id])
		return own || !r.private
	}
	return r.roleOn(w.user) != "none"
}

// covers reports whether an installation token may change r.
func (s *Server) covers(w *caller, r *repo) bool {
	in := w.inst()
	return in == nil || (s.installed(r) == in && (w.tok.repos == nil || w.tok.repos[r.id]))
}

func (s *Server) newToken(u *user, prefix string) *token {
	var b [24]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand does not fail
	}
	t := &token{value: prefix + hex.EncodeToString(b[:]), user: u}
	s.tokens[t.value] = t
	return t
}

// rateState is the primary limit of one caller.
type rateState struct {
	limit, used int
	reset       time.Time
}

func (s *Server) rateOf(who *caller) *rateState {
	key := who.key()
	r := s.rate[key]
	if r == nil || !s.clock().Before(r.reset) {
		limit := 5000
		r = &rateState{limit: limit, reset: s.clock().Add(time.Hour)}
		s.rate[key] = r
	}
	return r
}

// spend counts a request against the caller's limit and writes the headers.
func (s *Server) spend(c *call) error {
	r := s.rateOf(c.who)
	over := r.used >= r.limit
	if !over && c.op.OperationID != "rate-limit/get" {
		r.used++
	}
	c.header.Set("X-Ratelimit-Limit", strconv.Itoa(r.limit))
	c.header.Set("X-Ratelimit-Remaining", strconv.Itoa(max(0, r.limit-r.used)))
	c.header.Set("X-Ratelimit-Used", strconv.Itoa(r.used))
	c.header.Set("X-Ratelimit-Reset", itoa(r.reset.Unix()))
	c.header.Set("X-Ratelimit-Resource", "core")
	if over {
		return &apiError{status: http.StatusForbidden, message: "API rate limit exceeded for " + c.who.key() + "."}
	}
	return nil
}

// refund gives back what a conditional request spent that changed nothing.
func (s *Server) refund(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if who, err := s.authenticate(r.Header.Get("Authorization")); err == nil {
		if st := s.rateOf(who); st.used > 0 {
			st.used--
		}
	}
}

// SetRateLimit gives every caller this many requests until reset.
func (s *Server) SetRateLimit(remaining int, reset time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.rate {
		st.limit, st.used, st.reset = remaining, 0, reset
	}
}
