// Package ghtest is a small fake of GitHub for tests and the demo.
//
// It serves GitHub's REST API, its git transport and its webhooks on loopback. Package
// hub holds its state and rules: users with roles, repositories in real git, issues,
// comments, reactions, pull requests with a head that follows the branch, reviews, and
// checks. It uses GitHub's formats and refuses the requests that GitHub refuses.
//
// [Server.OpenIssue] and [Server.Comment] act as a user: they change the state and send
// the signed webhook. [Server.Thread] returns a thread as users see it. [Server.Wait]
// waits for a state without polling.
//
// Tests use package ghcheck. It validates every request and every answer against
// GitHub's official description, injects faults, and provides all other user actions.
package ghtest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// Config configures the fake. The zero value is valid.
type Config struct {
	Dir           string            // directory for repositories; empty means a temporary one, removed by Close
	Addr          string            // listen address; empty means a free port on 127.0.0.1
	Log           *slog.Logger      // nil disables logging
	Clock         func() time.Time  // nil means time.Now
	AppSlug       string            // empty means "handrail"
	Permissions   map[string]string // the app's permissions; nil means those that the bot requests
	Key           []byte            // the app's private key in PEM; nil means one of this process
	WebhookURL    string            // destination of events, see also [Server.SetWebhook]
	WebhookSecret string            // empty means "ghtest-webhook-secret"
	Description   Description       // nil disables validation

	// Query answers a GraphQL query for a viewer; nil disables GraphQL.
	Query func(Viewer, []byte) ([]byte, error)

	// Sign signs the commits that GitHub makes itself. Signature splits a signed commit and
	// reports whether GitHub signed it. nil disables either.
	Sign      func(commit []byte) (string, error)
	Signature func(commit string) (payload, signature string, valid bool)

	// API and Git wrap the handlers of the API and of git; nil means no wrapper.
	API, Git func(http.Handler) http.Handler
}

// App is the app's data that an operator notes down after its creation.
type App struct {
	ID            int64
	Slug          string
	Login         string // login of the app's own user, "handrail[bot]"
	ClientID      string
	Key           []byte // RSA private key in PEM
	WebhookSecret string
}

// Description is GitHub's official description of its API, used to validate requests
// and answers. It must be safe for concurrent use.
type Description interface {
	// Request validates a request. It returns GitHub's error message, or an error if GitHub
	// would silently accept the mistake.
	Request(Request) (refusal string, err error)
	// Complete adds the required fields that the handler left out.
	Complete(route string, status int, answer any) any
	// Named is Complete for a named schema of the description.
	Named(schema string, v any) any
	// Answer validates an answer.
	Answer(req Request, status int, header http.Header, body []byte) error
}

// Request is a REST request with its route, one of [Routes], and the values of the
// route's variables.
type Request struct {
	*http.Request
	Route  string
	Params map[string]string
	Body   []byte
}

// undescribed is a Description that validates and completes nothing.
type undescribed struct{}

func (undescribed) Request(Request) (string, error) { return "", nil }

func (undescribed) Complete(_ string, _ int, answer any) any { return answer }

func (undescribed) Named(_ string, v any) any { return v }

func (undescribed) Answer(Request, int, http.Header, []byte) error { return nil }

// Server is a fake GitHub. It is safe for concurrent use.
type Server struct {
	shaper
	*hooks
	appPublic *rsa.PublicKey

	log     *slog.Logger
	git     http.Handler
	owned   bool // Close removes the directory
	addr    string
	routers table
	rest    http.Handler
	grants  sync.Map // logins that wait for the exchange of their code
	query   func(Viewer, []byte) ([]byte, error)

	http   *http.Server
	done   sync.WaitGroup
	closed chan struct{}

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced on every change
	violations []string
}

// New returns a server that does not listen yet; see [Server.Start].
func New(cfg Config) (*Server, error) {
	s := &Server{
		log:     cfg.Log,
		addr:    cfg.Addr,
		routers: routers(),
		changed: make(chan struct{}),
		closed:  make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	s.rest, s.query = http.HandlerFunc(s.serveAPI), cfg.Query
	if cfg.API != nil {
		s.rest = cfg.API(s.rest)
	}
	var err error
	if s.git, err = newGitHTTP(s); err != nil {
		return nil, err
	}
	if cfg.Git != nil {
		s.git = cfg.Git(s.git)
	}
	key, priv, err := appKey(cfg.Key)
	if err != nil {
		return nil, err
	}
	if err := s.settle(cfg); err != nil {
		return nil, err
	}
	s.app.Key, s.appPublic = key, &priv.PublicKey
	s.hooks = &hooks{s: s, to: cfg.WebhookURL, wake: make(chan struct{}, 1)}
	return s, nil
}

// settle creates the hub and the shaper.
func (s *Server) settle(cfg Config) error {
	root := cfg.Dir
	var err error
	if root == "" {
		if root, err = os.MkdirTemp("", "ghtest-"); err != nil {
			return fmt.Errorf("create directory: %w", err)
		}
		s.owned = true
	}
	if root, err = filepath.Abs(root); err != nil {
		return fmt.Errorf("find directory: %w", err)
	}
	app := App{
		ID:            77,
		Slug:          orElse(cfg.AppSlug, "handrail"),
		ClientID:      "Iv1.ghtest",
		WebhookSecret: orElse(cfg.WebhookSecret, "ghtest-webhook-secret"),
	}
	app.Login = app.Slug + "[bot]"
	perms := cfg.Permissions
	if perms == nil {
		perms = defaultPermissions()
	}
	clock := cfg.Clock
	if clock == nil {
		clock = time.Now
	}
	s.shaper = shaper{
		Hub:         hub.New(s.log, clock, root),
		app:         app,
		perms:       perms,
		description: cfg.Description,
		sign:        cfg.Sign,
		signature:   cfg.Signature,
	}
	if s.description == nil {
		s.description = undescribed{}
	}
	s.Notify = s.enqueueEvent
	s.EnsureUser(app.Login, "Bot")
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// testKey is small, since it protects nothing, and made once, since that takes longer than many tests.
var testKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 1024) })

func appKey(given []byte) ([]byte, *rsa.PrivateKey, error) {
	if given == nil {
		priv, err := testKey()
		if err != nil {
			return nil, nil, fmt.Errorf("make app key: %w", err)
		}
		block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(priv)}
		return pem.EncodeToMemory(block), priv, nil
	}
	block, _ := pem.Decode(given)
	if block == nil {
		return nil, nil, errors.New("read app key: not in PEM form")
	}
	priv, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("read app key: %w", err)
	}
	return given, priv, nil
}

// Start listens, and serves until [Server.Close].
func (s *Server) Start() error {
	ln, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.addr, err)
	}
	s.mu.Lock()
	s.url = "http://" + ln.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	srv := s.http
	s.mu.Unlock()
	s.done.Add(2)
	go func() {
		defer s.done.Done()
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serve fake github", "err", err)
		}
	}()
	go func() {
		defer s.done.Done()
		s.deliverLoop()
	}()
	return nil
}

// URL returns the base URL of the REST API, without a trailing slash. An enterprise
// client may append "/api/v3/".
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close stops serving, waits for running work and removes the temporary directory.
func (s *Server) Close() error {
	s.mu.Lock()
	srv := s.http
	s.http = nil
	select {
	case <-s.closed:
		s.mu.Unlock()
		return nil
	default:
	}
	close(s.closed)
	s.mu.Unlock()
	var err error
	if srv != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err = srv.Shutdown(ctx); err != nil {
			err = srv.Close()
		}
	}
	s.done.Wait()
	if s.owned {
		err = errors.Join(err, os.RemoveAll(s.Root))
	}
	return err
}

// App returns the app's identity and secrets.
func (s *Server) App() App {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.app
}

// Violations returns the requests and answers that violated the official API
// description. A test must end without any.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// Wait blocks until ok returns true or ctx ends. It calls ok now and after every
// change, without holding the lock, so ok may call any method of s.
func (s *Server) Wait(ctx context.Context, ok func(*Server) bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok(s) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for a state on github: %w", ctx.Err())
		}
	}
}

// touch wakes all waiters for a change. The caller holds the lock.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.log.Error("github contract violated", "violation", text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, text)
}

func splitRepo(name string) (owner, repo string) {
	owner, repo, _ = strings.Cut(name, "/")
	return owner, repo
}

func defaultPermissions() map[string]string {
	return map[string]string{"metadata": "read", "contents": "write", "issues": "write",
		"pull_requests": "write", "checks": "write", "statuses": "write", "actions": "read", "members": "read"}
}
