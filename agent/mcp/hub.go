// Package mcp calls the tools of MCP servers: programs that a caller starts, and URLs. It
// trusts none of them. A server's words are cleaned, its definitions are frozen for a
// session, and all that it sends is bounded. Whether a call may be made is decided before
// it reaches this package.
//
//	hub.go       the servers of a session, and their connections
//	list.go      the tools of a server: cleaned, counted, frozen
//	call.go      calls, and their results
//	question.go  questions of a server to the requester
//	schema.go    arguments against a tool's schema
//	http.go      requests to a URL: one origin, no redirects
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Limits of one server.
const (
	maxBurst  = 16 << 20 // bytes that arrive during one request
	maxFrame  = 8 << 20  // bytes of one message
	maxStarts = 3        // connections in one session
	closeTime = 3 * time.Second

	connectTime = 10 * time.Second // to connect and to list
)

// Server is one server. Start or URL is set.
type Server struct {
	Name  string
	Where string // where it runs, for display
	// Start starts the program and returns its stdin and stdout; Close ends it.
	Start    func(ctx context.Context) (io.ReadWriteCloser, error)
	URL      string
	HTTP     http.RoundTripper // carries the requests to URL
	Wait     time.Duration     // for one call; 0 means a minute
	Patience time.Duration     // to connect and to list; 0 means ten seconds
	Offers   func(tool string) bool
	Frozen   *session.Server // its list as recorded; nil if there is none yet
}

// Hub holds the servers of a session. It connects to one at the first use, and is safe
// for concurrent use; calls of one server run one after the other.
type Hub struct {
	links []*link
	log   *slog.Logger
}

// New returns a hub. It connects to nothing.
func New(servers []Server, log *slog.Logger) *Hub {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	h := &Hub{log: log}
	for _, s := range servers {
		if s.Wait <= 0 {
			s.Wait = time.Minute
		}
		if s.Patience <= 0 {
			s.Patience = connectTime
		}
		h.links = append(h.links, &link{Server: s, log: log.With("server", s.Name)})
	}
	slices.SortFunc(h.links, func(a, b *link) int { return strings.Compare(a.Name, b.Name) })
	return h
}

// Servers returns the frozen lists, by name. A server that was never listed is left out.
func (h *Hub) Servers() []session.Server {
	var out []session.Server
	for _, l := range h.links {
		l.mu.Lock()
		if l.Frozen != nil {
			out = append(out, *l.Frozen)
		}
		l.mu.Unlock()
	}
	return out
}

// Where returns where a server runs, for display; "" if there is no such server.
func (h *Hub) Where(name string) string {
	if l := h.link(name); l != nil {
		return l.Where
	}
	return ""
}

// List asks all servers without a frozen list for their tools, in parallel, and freezes
// the answers. A server that fails has a reason in Down, and no tools.
func (h *Hub) List(ctx context.Context) []session.Server {
	out := make([]session.Server, len(h.links))
	var all sync.WaitGroup
	for i, l := range h.links {
		all.Go(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.Frozen != nil {
				return
			}
			err := l.connect(ctx)
			if err != nil {
				l.log.WarnContext(ctx, "MCP server not connected", "err", err)
				l.Frozen = &session.Server{Name: l.Name, Down: oneLine(err.Error())}
			}
			out[i] = *l.Frozen
		})
	}
	all.Wait()
	return slices.DeleteFunc(out, func(s session.Server) bool { return s.Name == "" })
}

// Leave takes a server out of use.
func (h *Hub) Leave(name, why string) {
	if l := h.link(name); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.end()
		l.Frozen = &session.Server{Name: name, Down: why}
	}
}

// Busy reports whether a program may have changed files since the last query.
func (h *Hub) Busy() bool {
	busy := false
	for _, l := range h.links {
		if l.Start != nil {
			busy = l.ran.Swap(l.runs.Load()) || busy
		}
	}
	return busy
}

// Close ends all connections, and so all programs. A nil hub has none.
func (h *Hub) Close() {
	if h == nil {
		return
	}
	var all sync.WaitGroup
	for _, l := range h.links {
		all.Go(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.end()
		})
	}
	all.Wait()
}

func (h *Hub) link(name string) *link {
	for _, l := range h.links {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// link is one server with its connection.
type link struct {
	Server
	log  *slog.Logger
	ran  atomic.Bool // a program ran since the last query of Busy
	runs atomic.Bool

	mu     sync.Mutex
	cs     *mcp.ClientSession // nil without a connection
	drop   func()             // ends the transport
	meter  *meter
	starts int

	asking atomic.Pointer[asking] // of the call that runs
}

// connect connects and lists the tools. The list is frozen, or compared with the frozen
// one. l.mu is held.
func (l *link) connect(ctx context.Context) (err error) {
	if l.cs != nil {
		return nil
	}
	if l.starts >= maxStarts {
		return fmt.Errorf("it ended %d times in this session and is not started again", l.starts)
	}
	l.starts++
	within, cancel := context.WithTimeout(ctx, l.Patience) //control:mcp-connect-deadline
	defer cancel()
	transport, err := l.transport(within)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(within, l.drop) // a server that accepts and never answers
	l.cs, err = l.client().Connect(within, transport, nil)
	if err == nil {
		err = l.freeze(within)
	}
	if !stop() && err == nil {
		err = within.Err()
	}
	if err == nil {
		return nil
	}
	l.end()
	if within.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("it did not answer within %s", l.Patience)
	}
	return l.why(err)
}

// why returns the cause of a failed request in words of our own, if it is known.
func (l *link) why(err error) error {
	if l.meter != nil && l.meter.over.Load() {
		return fmt.Errorf("it sent more than %d MiB and was stopped", maxBurst>>20)
	}
	if errors.Is(err, errElsewhere) {
		return errElsewhere
	}
	return err
}

func (l *link) transport(ctx context.Context) (mcp.Transport, error) {
	l.meter = &meter{}
	if l.Start == nil {
		client := &http.Client{Transport: l.origin(), CheckRedirect: func(*http.Request, []*http.Request) error {
			return errElsewhere //control:mcp-no-redirects
		}}
		l.drop = client.CloseIdleConnections
		return &mcp.StreamableClientTransport{
			Endpoint:     l.URL,
			HTTPClient:   client,
			MaxRetries:   -1,
			MaxEventSize: maxFrame,
		}, nil
	}
	conn, err := l.Start(ctx)
	if err != nil {
		return nil, err
	}
	l.ran.Store(true)
	l.runs.Store(true)
	l.meter.r = conn
	l.drop = func() { _ = conn.Close() }
	return &mcp.IOTransport{Reader: meteredPipe{l.meter, conn}, Writer: conn, MaxLineLength: maxFrame}, nil
}

// client returns a client that offers the server nothing but its questions: no sampling,
// no roots.
func (l *link) client() *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "handrail", Version: "1"}, &mcp.ClientOptions{
		Logger:                      slog.New(slog.DiscardHandler), // a server's own log
		Capabilities:                &mcp.ClientCapabilities{},
		ElicitationHandler:          l.elicit,
		ProgressNotificationHandler: l.progress,
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: true},
	})
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "roots/list" || method == "sampling/createMessage" { //control:mcp-no-sampling
				return nil, errRefused
			}
			return next(ctx, method, req)
		}
	})
	return c
}

// errRefused answers requests of a server for a model or for directories.
var errRefused = errors.New("this client offers neither sampling nor roots")

// end ends the connection. l.mu is held.
func (l *link) end() {
	l.runs.Store(false)
	if l.drop != nil {
		l.drop()
	}
	if cs := l.cs; cs != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = cs.Close() // the transport has ended
		}()
		select {
		case <-done:
		case <-time.After(closeTime):
		}
	}
	l.cs, l.drop = nil, nil
}

// meter limits the bytes that arrive during one request.
type meter struct {
	r    io.Reader
	n    atomic.Int64
	over atomic.Bool
}

var errFlood = errors.New("the server sent too much")

func (m *meter) count(n int) error {
	if m.n.Add(int64(n)) > maxBurst { //control:mcp-flood
		m.over.Store(true)
		return errFlood
	}
	return nil
}

// Read fails once too much has arrived.
func (m *meter) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	if over := m.count(n); over != nil {
		return 0, over
	}
	return n, err
}

type meteredPipe struct {
	*meter
	io.Closer
}

// maxReason is the maximum length of a server's own words in an error.
const maxReason = 300

// oneLine makes a server's words one visible line.
func oneLine(s string) string {
	return phrase.Short(untrusted.EscapeLine(strings.ToValidUTF8(s, "�")), maxReason)
}
