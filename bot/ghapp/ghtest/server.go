// Package ghtest is a GitHub small enough to run in a test, and in the demo.
//
// It serves GitHub's REST API, its git transport and its webhooks on loopback.
// What is there, and the rules by which it changes, is package hub: users with
// roles, repositories in real git, issues, comments, reactions, pull requests
// whose head follows the branch, reviews, checks. It answers in GitHub's shapes
// and refuses what GitHub refuses.
//
// [Server.OpenIssue] and [Server.Comment] play a person: they change the state
// as that person would and send the signed webhook. [Server.Thread] returns
// what a person would see. [Server.Wait] waits for a state without polling.
//
// A test uses package ghcheck, which compares every request and every answer
// with GitHub's official description, injects faults, and plays people who do
// all that the stories need.
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

// Config says how the fake is built. Its zero value works.
type Config struct {
	Dir           string            // where repositories live; empty for a temporary directory, removed by Close
	Addr          string            // where to listen; empty for a free port on 127.0.0.1
	Log           *slog.Logger      // nil for none
	Clock         func() time.Time  // nil for the real time
	AppSlug       string            // empty for "handrail"
	Permissions   map[string]string // what the app may do; nil for what the bot asks for
	Key           []byte            // the app's private key in PEM; nil for a new one
	WebhookURL    string            // where events go, see also [Server.SetWebhook]
	WebhookSecret string            // empty for "ghtest-webhook-secret"
	Description   Description       // nil for none

	// Query answers a query of GraphQL as somebody sees what there is; nil for none.
	Query func(Viewer, []byte) ([]byte, error)

	// Sign signs a commit that GitHub makes itself, and Signature takes one apart and says
	// whether its signature is GitHub's; nil where nobody signs.
	Sign      func(commit []byte) (string, error)
	Signature func(commit string) (payload, signature string, valid bool)

	// API is put around the REST API; nil for nothing.
	API func(http.Handler) http.Handler
	// GitAway reports whether the code does not answer a request; nil for never.
	GitAway func(*http.Request) bool
}

// App is what an operator would note down after creating the app.
type App struct {
	ID            int64
	Slug          string
	Login         string // of the app's own user, "handrail[bot]"
	ClientID      string
	Key           []byte // RSA private key in PEM
	WebhookSecret string
}

// Description is GitHub's own description of its API, by which a test checks
// what is said. It may be asked by several requests at once.
type Description interface {
	// Request checks a request. It returns the words with which GitHub would
	// refuse it, or an error where GitHub would let a mistake pass in silence.
	Request(Request) (refusal string, err error)
	// Complete adds to an answer what the description requires and nobody
	// reads.
	Complete(route string, status int, answer any) any
	// Named is Complete for one of the description's schemas.
	Named(schema string, v any) any
	// Answer checks an answer.
	Answer(req Request, status int, header http.Header, body []byte) error
}

// Request is a request of the REST API and the route that it takes, one of
// [Routes], with the values of its variables.
type Request struct {
	*http.Request
	Route  string
	Params map[string]string
	Body   []byte
}

// undescribed checks and completes nothing.
type undescribed struct{}

func (undescribed) Request(Request) (string, error) { return "", nil }

func (undescribed) Complete(_ string, _ int, answer any) any { return answer }

func (undescribed) Named(_ string, v any) any { return v }

func (undescribed) Answer(Request, int, http.Header, []byte) error { return nil }

// Server is the fake. It is safe for concurrent use.
type Server struct {
	shaper
	*hooks
	appPublic *rsa.PublicKey

	log     *slog.Logger
	git     *gitHTTP
	owned   bool // the directory is ours to remove
	addr    string
	routers table
	rest    http.Handler
	gitAway func(*http.Request) bool
	query   func(Viewer, []byte) ([]byte, error)

	http   *http.Server
	done   sync.WaitGroup
	closed chan struct{}

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every change
	violations []string
}

// New returns a fake that is not yet served; see [Server.Start].
func New(cfg Config) (*Server, error) {
	s := &Server{log: cfg.Log, addr: cfg.Addr, routers: routers(), changed: make(chan struct{}), closed: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	s.gitAway = cfg.GitAway
	s.rest, s.query = http.HandlerFunc(s.serveAPI), cfg.Query
	if cfg.API != nil {
		s.rest = cfg.API(s.rest)
	}
	var err error
	if s.git, err = newGitHTTP(s); err != nil {
		return nil, err
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

// settle makes the hub and what speaks of it.
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
	app := App{ID: 77, Slug: orElse(cfg.AppSlug, "handrail"), ClientID: "Iv1.ghtest", WebhookSecret: orElse(cfg.WebhookSecret, "ghtest-webhook-secret")}
	app.Login = app.Slug + "[bot]"
	perms := cfg.Permissions
	if perms == nil {
		perms = defaultPermissions()
	}
	clock := cfg.Clock
	if clock == nil {
		clock = time.Now
	}
	s.shaper = shaper{Hub: hub.New(s.log, clock, root), app: app, perms: perms, description: cfg.Description, sign: cfg.Sign, signature: cfg.Signature}
	if s.description == nil {
		s.description = undescribed{}
	}
	s.Notify = s.told
	s.EnsureUser(app.Login, "Bot")
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func appKey(given []byte) ([]byte, *rsa.PrivateKey, error) {
	if given == nil {
		// Small, because it is made for every test and guards nothing.
		priv, err := rsa.GenerateKey(rand.Reader, 1024)
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

// Start listens and serves until [Server.Close].
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

// URL returns the address of the fake without a slash at the end. It is the
// base of the REST API; an enterprise client may add "/api/v3/".
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close stops serving, waits for what still runs and removes what New made.
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

// App returns the identity and the secrets of the app.
func (s *Server) App() App {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.app
}

// Violations returns every request or answer so far that did not fit the
// official description of the API. It must be empty at the end of a test.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// Wait returns when ok reports true, which it is asked after every change, or
// with the context's error. It holds no lock while it asks, so ok may call
// any method of s.
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

// touch wakes everyone who waits for a change. The lock is held.
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
