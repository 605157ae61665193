// Package dashboard shows sessions in a browser, while they run and afterwards, and takes
// the commands that a comment can give.
//
// A page is a function of the session's row and log. Pages are complete without script;
// the script only appends to them. A button is a command: it goes the way
// of a comment, with the same parser and the same rights. Every text of a session passes
// [show] or [exact] before it reaches a template, which escapes it.
//
//	dashboard.go  the configuration, the routes, the headers
//	access.go     the viewer of a request, and the rights
//	login.go      the login with GitHub
//	list.go       the sessions, and the approvals that the viewer may answer
//	session.go    one session
//	story.go      an event as an item of the story
//	edit.go       a call, and an edit as a diff in colours
//	steps.go      the checkpoints that a command can take back
//	summary.go    the state of a session, in bounded memory
//	feed.go       the events of a session for all its viewers
//	stream.go     a viewer's stream
//	order.go      the commands of buttons
//	text.go       texts for display
//	page.go       templates
package dashboard

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Sessions reads the records of sessions. [store.Sessions] implements it.
type Sessions interface {
	Session(ctx context.Context, id string) (*store.Session, error)
	List(ctx context.Context, q store.Query) ([]*store.Session, error)
}

// Pages reads a session's log in pages, as [store.Logs] does.
type Pages func(ctx context.Context, id string, after int64, limit int) ([]session.Event, error)

// Config configures a dashboard. Sessions and Pages are required.
type Config struct {
	Sessions Sessions
	Pages    Pages

	URL   string      // public address, such as https://agent.example; empty means loopback
	Key   *secret.Key // seals cookies; servers that share it share their logins
	Login *Login      // nil means that there is no login
	Code  string      // one-time code that opens the dashboard of a local session; "" means none
	Local bool        // sessions of the command line: they can be answered and stopped

	// Rights returns the rights of an account in a repository, as GitHub has them now. It is
	// required with Login.
	Rights func(ctx context.Context, account int64, repository string) (policy.Actor, error)
	// Command carries out a command, or hands it on. nil makes the dashboard read-only.
	Command func(ctx context.Context, o Order) error
	// Answers reports whether an account may answer a request now. nil means that the right
	// to write decides.
	Answers func(ctx context.Context, s *store.Session, by policy.Actor, asked session.Asked) (bool, error)
	// Diff returns the diff between two commits of a session. nil means that there is none.
	Diff func(ctx context.Context, s *store.Session, from, to string) (string, error)
	// Sheets are further pages.
	Sheets []Sheet

	Web   string        // GitHub's address for links, such as https://github.com; "" means no links
	Lease time.Duration // validity of a server's lease after its heartbeat; zero hides the age of heartbeats
	Poll  time.Duration // between looks at a log that another process may extend; zero means 1 s
	Beat  time.Duration // between heartbeats of a stream; zero means 15 s
	Most  int           // maximum number of streams; zero means 2000
	Now   func() time.Time
	Log   *slog.Logger
	local bool // a code opens it
}

// Server is the dashboard. It is safe for concurrent use.
type Server struct {
	cfg     Config
	home    *url.URL
	handler http.Handler
	rights  rights
	views   views
	feeds   feeds
	code    oneTime
	streams streams
	drain   chan struct{}
	once    sync.Once
}

//go:embed assets
var assets embed.FS

// New returns a dashboard.
func New(cfg Config) (*Server, error) {
	switch {
	case cfg.Sessions == nil || cfg.Pages == nil:
		return nil, errors.New("make dashboard: no sessions")
	case cfg.Login != nil && (cfg.Rights == nil || cfg.Key == nil):
		return nil, errors.New("make dashboard: a login needs rights and a key")
	case cfg.URL != "" && cfg.Login == nil:
		return nil, errors.New("make dashboard: a public address needs a login")
	}
	cfg.Poll, cfg.Beat, cfg.Most = cmp.Or(cfg.Poll, time.Second), cmp.Or(cfg.Beat, 15*time.Second), cmp.Or(cfg.Most, 2000)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.local = cfg.Code != ""
	if cfg.Key == nil {
		var err error
		if cfg.Key, err = secret.DeriveKey(secret.Value(rand.Text()), "dashboard"); err != nil {
			return nil, err
		}
	}
	home, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("make dashboard: the address is no URL")
	}
	s := &Server{cfg: cfg, home: home, drain: make(chan struct{})}
	s.rights.known = map[rightKey]right{}
	s.views.known = map[string]*view{}
	s.feeds = feeds{server: s, running: map[string]*feed{}}
	s.code.code, s.streams.most, s.streams.each = cfg.Code, cfg.Most, map[string]int{}
	s.handler = s.routes()
	return s, nil
}

// routes returns the handler of all pages.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{name}", s.asset)
	mux.HandleFunc("GET /open", s.open)
	if s.cfg.Login != nil {
		mux.HandleFunc("GET /login", s.login)
		mux.HandleFunc("GET /login/done", s.loginDone)
		mux.HandleFunc("POST /logout", s.logout)
	}
	for route, handle := range map[string]func(http.ResponseWriter, *http.Request, viewer) error{
		"GET /{$}":               s.listPage,
		"GET /approvals":         s.approvalsPage,
		"GET /s/{id}":            s.sessionPage,
		"GET /s/{id}/events":     s.stream,
		"GET /s/{id}/diff":       s.diffPage,
		"GET /s/{id}/text/{seq}": s.textPage,

		"GET /s/{id}/picture/{seq}/{n}": s.picturePage,

		"POST /s/{id}/command":    s.command,
		"GET /page/{sheet}":       s.sheetPage,
		"POST /page/{sheet}/test": s.sheetTest,
	} {
		mux.Handle(route, s.viewed(handle))
	}
	return s.guarded(http.NewCrossOriginProtection().Handler(mux)) //control:dashboard-cross-origin
}

// policyHeader lets a page load its own style and script, and nothing else.
const policyHeader = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded sets the headers of all answers, and refuses requests for another host: the
// page of another site could reach loopback under a name of its own.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policyHeader) //control:dashboard-policy
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !s.answersTo(r) { //control:dashboard-host
			http.Error(w, "This dashboard has another address.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// forwarded are the headers that proxies add. Without a login, a proxy would make the
// loopback address public.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"}

// answersTo reports whether a request is for this dashboard's own address.
func (s *Server) answersTo(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if s.home.Host != "" {
		return strings.EqualFold(r.Host, s.home.Host)
	}
	proxied := slices.ContainsFunc(forwarded, func(name string) bool { return r.Header.Get(name) != "" })
	return IsLoopback(host) && !proxied
}

// IsLoopback reports whether a host is this machine and cannot be reached from another.
func IsLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends all streams, so that their browsers move to another server.
func (s *Server) Close() {
	s.once.Do(func() { close(s.drain) })
	s.feeds.wait.Wait()
}

// Grown tells the dashboard that a session's log has new events. It does not block.
func (s *Server) Grown(id string) { s.feeds.nudge(id) }

// missing is the answer for things that are not there, or not for this viewer.
var errMissing = errors.New("not found")

// viewed finds the viewer of a request, and turns errors into pages.
func (s *Server) viewed(handle func(http.ResponseWriter, *http.Request, viewer) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := s.viewer(r)
		if !ok {
			s.welcome(w, r)
			return
		}
		err := handle(w, r, v)
		switch {
		case err == nil, r.Context().Err() != nil:
		case errors.Is(err, errMissing), errors.Is(err, store.ErrNotFound):
			s.problem(w, v, http.StatusNotFound, "There is nothing here, or nothing that you may read.")
		default:
			s.cfg.Log.ErrorContext(r.Context(), "dashboard", "path", r.URL.Path, "err", err)
			s.problem(w, v, http.StatusBadGateway, "That did not work. Try again in a moment.")
		}
	})
}
