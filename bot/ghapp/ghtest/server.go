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

// Server is the fake. It is safe for concurrent use.
type Server struct {
	log   *slog.Logger
	clock func() time.Time
	spec  *spec
	ops   map[string]operation
	git   gitHTTP
	root  string
	owned bool // root is ours to remove
	addr  string

	http   *http.Server
	url    string
	done   sync.WaitGroup
	closed chan struct{}

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every change
	violations []string
	faults     faultState
	late       int // late writes outstanding
	state
}

// New returns a fake that is not yet served; see [Server.Start].
func New(cfg Config) (*Server, error) {
	s := &Server{log: cfg.Log, clock: cfg.Clock, root: cfg.Dir, addr: cfg.Addr, ops: operations(),
		changed: make(chan struct{}), closed: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	var err error
	if s.spec, err = loadSpec(); err != nil {
		return nil, err
	}
	if s.git, err = newGitHTTP(); err != nil {
		return nil, err
	}
	key, priv, err := appKey(cfg.Key)
	if err != nil {
		return nil, err
	}
	if s.root == "" {
		if s.root, err = os.MkdirTemp("", "ghtest-"); err != nil {
			return nil, fmt.Errorf("create directory: %w", err)
		}
		s.owned = true
	}
	if s.root, err = filepath.Abs(s.root); err != nil {
		return nil, fmt.Errorf("find directory: %w", err)
	}
	s.state = newState(cfg)
	s.app.Key, s.appPublic = key, &priv.PublicKey
	return s, nil
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
		err = errors.Join(err, os.RemoveAll(s.root))
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
