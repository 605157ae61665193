// Package egress is the one way out of a workspace whose network is an allowlist: a proxy
// that runs beside the model, not inside. It is told names and reaches those on a list.
// The workspace itself has no network and no names to look up; each connection to the
// proxy inside is carried here, and everything that comes over it may be forged.
//
//	egress.go  a connection, and who is told of what
//	head.go    the first lines of a request, read strictly
//	dial.go    a name becomes a connection
//	tunnel.go  CONNECT: TLS for the name that was asked for, and nothing else
//	plain.go   plain HTTP, one request of each connection
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

// Config says what is reached. Hosts are entries as [reach.Check] takes them. Inside are
// those of them that may be inside a network, with where they may be, as [reach.Place]
// takes it; a host that is not in it is reached at public addresses only. Resolver looks
// names up, nil for that of the system. Key is the key of the configuration under which
// people list hosts, "" for workspace.hosts.
type Config struct {
	Key      string
	Hosts    []string
	Inside   map[string]string
	Resolver *net.Resolver
	Log      *slog.Logger
}

// Proxy is the way out of one workspace. It is safe for concurrent use.
type Proxy struct {
	key      string
	hosts    []string
	inside   map[string]netip.Prefix
	resolver *net.Resolver
	log      *slog.Logger

	mu     sync.Mutex
	notes  []string // for the model, since it was told last
	more   int      // that did not fit
	logged map[string]bool
}

var _ workspace.Egress = (*Proxy)(nil)

// New returns a proxy, or what is wrong with its lists.
func New(cfg Config) (*Proxy, error) {
	p := &Proxy{key: cmp.Or(cfg.Key, "workspace.hosts"), hosts: slices.Clone(cfg.Hosts), inside: map[string]netip.Prefix{}, resolver: cfg.Resolver, log: cfg.Log, logged: map[string]bool{}}
	for _, h := range p.hosts {
		if err := reach.Check(h); err != nil {
			return nil, fmt.Errorf("make way out of workspace: %w", err)
		}
	}
	for host, at := range cfg.Inside {
		name, ok := reach.Name(host)
		place, err := reach.Place(at)
		if !ok || err != nil {
			return nil, fmt.Errorf("make way out of workspace: %q at %q: a name, and an address or a range of them, are needed", host, at)
		}
		p.inside[name] = place
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	return p, nil
}

// Bounds of one connection. What is let through is bounded as well, so that a workspace
// can neither fill this machine's network nor send much away unseen.
const (
	headTime = 30 * time.Second // to say what is wanted
	idleTime = 3 * time.Minute  // without a byte in either direction
	maxDown  = 4 << 30
	maxUp    = 256 << 20
)

// Serve implements [workspace.Egress]: it reads what is wanted, does it or says why not,
// and closes the connection.
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
		err = refused(h.at(), "not on "+p.key)
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
		p.tell(ctx, r) // before the program hears of it, and its command ends
		if !r.begun {
			c.say(r, p.key)
		} else if len(r.last) > 0 {
			_, _ = c.Write(r.last)
		}
	}
}

// client is who asked, with what was read of it already.
type client struct {
	net.Conn
	in *bufio.Reader
}

// Read reads what was read already first.
func (c client) Read(b []byte) (int, error) { return c.in.Read(b) }

// say answers with a refusal. Most programs show the first line only, some the text. Key is
// where people list hosts.
func (c client) say(r *refusal, key string) {
	text := "The network of this workspace is an allowlist: " + r.Error() + ".\n"
	if r.status == http.StatusForbidden {
		text += "Do without it. Where that cannot be, say so: a person can list a host under " + key + " in the configuration.\n"
	}
	_ = c.SetDeadline(time.Now().Add(headTime))
	_, _ = c.Write([]byte("HTTP/1.1 " + strconv.Itoa(r.status) + " " + r.Error() + "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: " +
		strconv.Itoa(len(text)) + "\r\n\r\n" + text)) // who is gone needs no answer
}

// refusal is what was not done, and why. Its text is one line.
type refusal struct {
	status int    // of the answer
	at     string // what was asked for
	why    string
	err    error  // for the log alone
	begun  bool   // an answer is on its way already
	last   []byte // of that answer
}

func refused(at, why string) *refusal {
	return &refusal{status: http.StatusForbidden, at: at, why: why}
}

// Error says it in one line, as people and the model are told.
func (r *refusal) Error() string {
	if r.status == http.StatusBadGateway {
		return r.at + " is allowed but cannot be reached: " + r.why
	}
	return "refused " + r.at + ", " + r.why
}

// Unwrap returns what the system said.
func (r *refusal) Unwrap() error { return r.err }

// most is how many refusals the model is told at once, and how many are logged.
const (
	mostNotes  = 10
	mostLogged = 100
)

// tell writes a refusal to the log, and down for the model; the same one once.
func (p *Proxy) tell(ctx context.Context, r *refusal) {
	text := r.Error()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.logged[text] && len(p.logged) < mostLogged {
		p.logged[text] = true
		p.write(ctx, r) //control:egress-logged
		if len(p.logged) == mostLogged {
			p.log.WarnContext(ctx, "further refusals of this workspace are not logged")
		}
	}
	switch {
	case slices.Contains(p.notes, text):
	case len(p.notes) < mostNotes:
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
	log.WarnContext(ctx, "network refused")
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
