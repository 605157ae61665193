package guest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/mcp"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// doorURL is the address of the model's server as the agent has it.
const doorURL = "http://" + workspace.ProxyAddress

// Hello is the first line of a connection that carries MCP.
const Hello = "handrail-mcp 1"

// helloTime is the time for the first line of a connection.
const helloTime = 30 * time.Second

// Door is the way from a workspace with an agent to the bot. It is the workspace's
// [workspace.Egress], and tells three kinds of connections apart by their first line: MCP,
// requests to the model's server, and all others, which the next egress decides about.
// Everything in the workspace can use it, so a request through it has no trust.
type Door struct {
	at   Endpoint
	next workspace.Egress // nil: others are refused

	mu      sync.Mutex
	guest   *Guest
	tools   []session.ServerTool
	awake   bool          // the loop waits for the agent
	woken   chan struct{} // closed by the next wakeUp
	left    int           // number of turns until the next one
	turns   int           // since the last answer
	due     bool          // a turn waits for the next wakeUp
	process *process      // that is listened to
	count   count
	beside  int // tokens of them that are of no turn
	refused []string
}

// count has the tokens of requests since the last answer.
type count struct{ prompt, answer, cached int }

// NewDoor returns the door of one workspace. next may be nil.
func NewDoor(at Endpoint, next workspace.Egress) *Door {
	return &Door{at: at, next: next, woken: make(chan struct{})}
}

// serve makes the tools of a session those of the MCP server.
func (d *Door) serve(g *Guest, list []llm.ToolSpec) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guest, d.tools = g, nil
	for _, t := range list {
		d.tools = append(d.tools, session.ServerTool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
}

// wakeUp lets requests to the model through until pause, so many turns at most.
func (d *Door) wakeUp(p *process, turns int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.process, d.awake, d.due, d.left = p, true, false, turns
	close(d.woken)
	d.woken = make(chan struct{})
}

func (d *Door) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.process, d.awake = nil, false
}

// admit waits until the loop waits for the agent and has a turn left for it: budgets are
// looked at in between.
func (d *Door) admit(ctx context.Context, turn bool) error {
	for {
		d.mu.Lock()
		woken := d.woken
		if d.awake && (!turn || d.left > 0) { //control:guest-turns-bound
			if turn {
				d.left--
				d.turns++
			}
			d.mu.Unlock()
			return nil
		}
		d.due = true
		if d.process != nil {
			d.process.poke()
		}
		d.mu.Unlock()
		select {
		case <-woken:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// giveBack gives back a turn without an answer.
func (d *Door) giveBack(turn bool) {
	if !turn {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left++
	d.turns--
}

// alive is a sign of life.
func (d *Door) alive() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process != nil {
		d.process.poke()
	}
}

// add counts the tokens of a request.
func (d *Door) add(c count, turn bool) {
	d.mu.Lock()
	d.count.prompt += c.prompt
	d.count.answer += c.answer
	d.count.cached += c.cached
	if !turn {
		d.beside += c.prompt + c.answer
	}
	d.mu.Unlock()
	d.alive()
}

// over ends an answer if budgets have to be looked at, or if the agent acted and its work is
// to be saved. It reports whether it did; no turn begins from then on. The last turn is heard
// to its end: its answer may be the agent's last words.
func (d *Door) over(acted bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	used := d.count.prompt + d.count.answer
	if d.left == 0 { //control:guest-last-words
		acted, used = false, d.beside
	}
	if !d.due && !acted && used <= maxTokens { //control:guest-tokens-bound
		return false
	}
	d.awake = false
	return true
}

// settle ends an answer, and sets its numbers of turns and tokens.
func (d *Door) settle(last *llm.Part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	last.Inner, last.PromptTokens = d.turns-1, d.count.prompt
	last.AnswerTokens, last.CachedTokens = d.count.answer, d.count.cached
	d.awake, d.turns, d.count, d.beside = false, 0, count{}, 0
}

// Serve implements [workspace.Egress].
func (d *Door) Serve(ctx context.Context, conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(helloTime))
	in := bufio.NewReaderSize(conn, 16<<10)
	line, err := in.ReadSlice('\n')
	if err != nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	first := string(line)
	words := strings.Fields(first)
	whole := &pushedBack{Conn: conn, in: io.MultiReader(strings.NewReader(first), in)}
	switch {
	case strings.TrimSpace(first) == Hello:
		d.serveTools(ctx, &pushedBack{Conn: conn, in: in})
	case len(words) == 3 && strings.HasPrefix(words[1], "/"):
		d.serveModel(ctx, whole)
	case d.next != nil:
		d.next.Serve(ctx, whole)
	default:
		d.refuse(words)
		_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		_ = conn.Close()
	}
}

// maxRefused is the maximum number of refusals that are told.
const maxRefused = 20

func (d *Door) refuse(words []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(words) > 1 && len(d.refused) < maxRefused {
		d.refused = append(d.refused, oneLine(words[1])+": this workspace has no network")
	}
}

// Refused implements [workspace.Egress].
func (d *Door) Refused() []string {
	d.mu.Lock()
	out := d.refused
	d.refused = nil
	d.mu.Unlock()
	if d.next != nil {
		out = append(out, d.next.Refused()...)
	}
	return out
}

// pushedBack is a connection of which the beginning was read.
type pushedBack struct {
	net.Conn
	in io.Reader
}

// Read reads the beginning again, and then the rest.
func (p *pushedBack) Read(b []byte) (int, error) { return p.in.Read(b) }

// serveTools serves our tools over MCP until the connection ends.
func (d *Door) serveTools(ctx context.Context, conn net.Conn) {
	d.mu.Lock()
	list := d.tools
	d.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	mcp.Serve(ctx, conn, list, d.invoke)
	_ = conn.Close()
}

// errNoAgent answers calls while no agent works.
var errNoAgent = errors.New("no agent works here now")

// invoke hands a call of one of our tools to the loop, and waits for its result.
func (d *Door) invoke(ctx context.Context, tool string, args []byte) (text string, failed bool) {
	d.mu.Lock()
	g := d.guest
	d.mu.Unlock()
	if g == nil {
		return errNoAgent.Error(), true
	}
	g.mu.Lock()
	p := g.at
	g.mu.Unlock()
	if p == nil || p.gone() {
		return errNoAgent.Error(), true
	}
	call := &invocation{tool: tool, args: bytes.Clone(args), answer: make(chan toolAnswer, 1)}
	p.push(event{calls: call}, len(args)+200)
	select {
	case a := <-call.answer:
		return a.text, a.failed
	case <-p.conn.Gone():
		return errNoAgent.Error(), true
	case <-ctx.Done():
		return ctx.Err().Error(), true
	}
}

// serveModel serves the HTTP requests of one connection.
func (d *Door) serveModel(ctx context.Context, conn net.Conn) {
	l := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.conn <- &closing{Conn: conn, done: l.end}
	srv := &http.Server{
		Handler:           http.HandlerFunc(d.model),
		ReadHeaderTimeout: helloTime,
		IdleTimeout:       10 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	_ = srv.Serve(l) // ends with the connection
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *oneConn) end() { l.once.Do(func() { close(l.closed) }) }

// Accept implements [net.Listener].
func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *oneConn) Close() error {
	l.end()
	return nil
}

// Addr implements [net.Listener].
func (*oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// closing is a connection that tells of its end.
type closing struct {
	net.Conn
	done func()
}

// Close closes the connection.
func (c *closing) Close() error {
	defer c.done()
	return c.Conn.Close()
}
