// Package egress is the only network access of a workspace with an allowlist: a proxy
// that runs on the model's side, not inside. It is given host names, and connects to
// listed ones. The workspace itself has no network and no DNS. Each connection to the
// proxy inside is carried here, and all of its data may be forged.
//
//	forward.go the inner end of the proxy
//	egress.go  connections, and the reporting of refusals
//	head.go    strict parsing of a request's head
//	dial.go    from a name to a connection
//	tunnel.go  CONNECT: TLS for the requested name, and nothing else
//	plain.go   plain HTTP, one request per connection
package egress

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/reach"
)

// Config configures a proxy. Hosts are allowed hosts as in [reach.Check]. Inside maps
// hosts that may have private addresses to their ranges, as in [reach.Place]; all others
// are reached at public addresses only. Resolver looks up names; nil means the system's.
// Key is the configuration key under which hosts are listed; "" means workspace.hosts.
type Config struct {
	Key      string
	Hosts    []string
	Inside   map[string]string
	Resolver *net.Resolver
	Log      *slog.Logger
}

// Proxy is the network access of one workspace. It is safe for concurrent use.
type Proxy struct {
	key      string
	hosts    []string
	inside   map[string]netip.Prefix
	resolver *net.Resolver
	log      *slog.Logger

	mu     sync.Mutex
	notes  []string // refusals not yet reported to the model
	more   int      // number of refusals that did not fit
	logged map[string]bool
}

var _ workspace.Egress = (*Proxy)(nil)

// New returns a proxy, or an error if its lists are invalid.
func New(cfg Config) (*Proxy, error) {
	p := &Proxy{
		key:      cmp.Or(cfg.Key, "workspace.hosts"),
		hosts:    slices.Clone(cfg.Hosts),
		inside:   map[string]netip.Prefix{},
		resolver: cfg.Resolver,
		log:      cfg.Log,
		logged:   map[string]bool{},
	}
	for _, h := range p.hosts {
		if err := reach.Check(h); err != nil {
			return nil, fmt.Errorf("make way out of workspace: %w", err)
		}
	}
	for host, at := range cfg.Inside {
		name, ok := reach.Name(host)
		place, err := reach.Place(at)
		if !ok || err != nil {
			return nil, fmt.Errorf(
				"make way out of workspace: %q at %q: a name, and an address or a range of them, are needed",
				host,
				at,
			)
		}
		p.inside[name] = place
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	return p, nil
}

// Limits of one connection. Allowed traffic is limited as well, so that a workspace can
// neither saturate this machine's network nor silently send much data out.
const (
	headTime = 30 * time.Second // until the request is read
	idleTime = 3 * time.Minute  // without data in either direction
	maxDown  = 4 << 30
	maxUp    = 256 << 20
)

// Serve implements [workspace.Egress]. It reads a request, handles or refuses it, and
// closes the connection.
func (p *Proxy) Serve(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(headTime)); err != nil {
		return
	}
	in := bufio.NewReader(conn)
	h, err := readHead(in)
	if err == nil && !reach.Allowed(p.hosts, h.host, h.port) { //control:egress-list
		err = refuse(h.at(), "not on "+p.key)
	}
	c := client{Conn: conn, in: in}
	switch {
	case err != nil:
	case h.method == http.MethodConnect:
		err = p.tunnel(ctx, c, h)
	default:
		err = p.plain(ctx, c, h)
	}
	var r *refusal
	if errors.As(err, &r) {
		p.report(ctx, r) // before the client hears of it and its command ends
		if !r.begun {
			c.answer(r, p.key)
		} else if len(r.last) > 0 {
			_, _ = c.Write(r.last)
		}
	}
}

// client is a requesting connection with its buffered input.
type client struct {
	net.Conn
	in *bufio.Reader
}

// Read reads the buffered input first.
func (c client) Read(b []byte) (int, error) { return c.in.Read(b) }

// answer answers with a refusal. Most programs show only the first line, some the text.
// key is the configuration key under which hosts are listed.
func (c client) answer(r *refusal, key string) {
	text := "The network of this workspace is an allowlist: " + r.Error() + ".\n"
	if r.status == http.StatusForbidden {
		text += "Do without it. Where that cannot be, say so: a person can list a host under " + key + " in the configuration.\n"
	}
	_ = c.SetDeadline(time.Now().Add(headTime))
	_, _ = c.Write([]byte("HTTP/1.1 " + strconv.Itoa(r.status) + " " + r.Error() + "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: " +
		strconv.Itoa(len(text)) + "\r\n\r\n" + text)) // ignored: the client may have hung up
}

// refusal is the error of a refused or failed request. Its text is one line.
type refusal struct {
	status int    // HTTP status of the answer
	at     string // requested host and port
	why    string
	err    error  // only for the log
	begun  bool   // the answer has begun
	last   []byte // final bytes of that answer
}

func refuse(at, why string) *refusal {
	return &refusal{status: http.StatusForbidden, at: at, why: why}
}

// Error returns one line for users and the model.
func (r *refusal) Error() string {
	if r.status == http.StatusBadGateway {
		return r.at + " is allowed but cannot be reached: " + r.why
	}
	return "refused " + r.at + ", " + r.why
}

// Unwrap returns the system's error.
func (r *refusal) Unwrap() error { return r.err }

// Maximum numbers of refusals reported to the model at once, and logged.
const (
	maxNotes  = 10
	maxLogged = 100
)

// report logs a refusal and notes it for the model, each distinct one once.
func (p *Proxy) report(ctx context.Context, r *refusal) {
	text := r.Error()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.logged[text] && len(p.logged) < maxLogged {
		p.logged[text] = true
		p.write(ctx, r) //control:egress-logged
		if len(p.logged) == maxLogged {
			p.log.WarnContext(ctx, "further refusals of this workspace are not logged")
		}
	}
	switch {
	case slices.Contains(p.notes, text):
	case len(p.notes) < maxNotes:
		p.notes = append(p.notes, text)
	default:
		p.more++
	}
}

func (p *Proxy) write(ctx context.Context, r *refusal) {
	log := p.log.With("host", r.at, "why", r.why)
	if r.err != nil {
		log = log.With("err", r.err)
	}
	if r.status == http.StatusBadGateway {
		log.WarnContext(ctx, "host of the workspace's list not reached")
		return
	}
	log.InfoContext(ctx, "network refused")
}

// Refused implements [workspace.Egress].
func (p *Proxy) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.notes
	if p.more > 0 {
		out = append(out, fmt.Sprintf("refused %d more", p.more))
	}
	p.notes, p.more = nil, 0
	return out
}
