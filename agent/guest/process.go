package guest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/acp"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// Limits of unread messages of an agent.
const (
	maxEvents = 50_000
	maxBytes  = 32 << 20

	greetTime = 2 * time.Minute // from the start to a session with the right mode
	endTime   = 10 * time.Second
)

// event is one entry of the merged stream of an agent; one field is set.
type event struct {
	update *acp.Update
	asks   *permission
	calls  *invocation
	end    *turnEnd
}

// permission is an open request for permission.
type permission struct {
	acp.Permission
	args   string // the request as a call of actionTool
	answer func(option *string)

	answered bool
}

// invocation is an open call of one of our tools.
type invocation struct {
	tool   string
	args   []byte
	answer chan toolAnswer // has room for one
}

type toolAnswer struct {
	text   string
	failed bool
}

// turnEnd is the end of a turn.
type turnEnd struct {
	reason string
	err    error
}

// process is one process of the agent with its one session. All that it sends goes through
// one queue, in order, whether or not a turn runs.
type process struct {
	conn    *acp.Conn
	about   acp.About
	session string

	mu    sync.Mutex
	queue []event
	bytes int
	flood bool
	wake  chan struct{} // has room for one

	// The rest belongs to the holder of Guest.turn.
	calls   map[string]acp.Call // by id
	noted   int                 // bytes of calls
	running bool                // a turn runs
	told    []digest            // the committed history
	asked   []asked             // the provisional one: calls of the last answer
	say     []string            // for the next prompt, or the one after this turn
	words   strings.Builder     // of this turn, since the last action
	touched bool                // it acted since the last saved step
	steps   []string            // titles of its actions since then
	idle    int                 // answers since the last turn of its model
}

// asked is one call that the loop was asked for. At most one field is set.
type asked struct {
	asks  *permission
	calls *invocation
}

func (p *process) push(e event, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flood {
		return
	}
	p.bytes += size
	if len(p.queue) >= maxEvents || p.bytes > maxBytes { //control:guest-flood
		p.flood, p.queue = true, nil
		p.conn.Close()
	} else {
		p.queue = append(p.queue, e)
	}
	p.poke()
}

// poke wakes the reader of the queue.
func (p *process) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// next returns the next event; ok is false if there is none.
func (p *process) next() (e event, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.flood:
		return e, false, errFlood
	case len(p.queue) > 0:
		e, p.queue = p.queue[0], p.queue[1:]
		if len(p.queue) == 0 {
			p.bytes = 0
		}
		return e, true, nil
	case p.gone():
		return e, false, acp.ErrGone
	}
	return e, false, nil
}

// wait waits until the queue may have an event, or the agent ended. Its error is the cause
// of the end of ctx.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.wake:
	case <-p.conn.Gone():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// await returns the next event as soon as there is one.
func (p *process) await(ctx context.Context) (event, error) {
	for {
		if ctx.Err() != nil { //control:guest-await-bounded
			return event{}, context.Cause(ctx)
		}
		e, ok, err := p.next()
		if ok || err != nil {
			return e, err
		}
		if err := p.wait(ctx); err != nil {
			return event{}, err
		}
	}
}

func (p *process) gone() bool {
	select {
	case <-p.conn.Gone():
		return true
	default:
		return false
	}
}

// Update implements [acp.Handler].
func (p *process) Update(_ string, u acp.Update) {
	p.push(event{update: &u}, sizeOf(u))
}

// sizeOf returns about the size of an update in memory, in bytes.
func sizeOf(u acp.Update) int { return len(u.Content) + len(u.Input) + 200 }

// Permission implements [acp.Handler].
func (p *process) Permission(_ string, ask acp.Permission, answer func(*string)) {
	p.push(event{asks: &permission{Permission: ask, answer: answer}}, len(ask.Call.Input)+500)
}

// close ends the process with all its children, and answers its open calls.
func (p *process) close() {
	p.conn.Close()
	p.mu.Lock()
	queue := p.queue
	p.queue = nil
	p.mu.Unlock()
	for _, e := range queue {
		if e.calls != nil {
			e.calls.answer <- toolAnswer{"The agent was ended.", true}
		}
	}
	for _, a := range p.asked {
		if a.calls != nil {
			a.calls.fail("The agent was ended.")
		}
	}
	p.asked = nil
}

// fail answers a call unless it has an answer.
func (c *invocation) fail(why string) {
	select {
	case c.answer <- toolAnswer{why, true}:
	default:
	}
}

// start starts the agent, and gives it a session in which it asks.
func (g *Guest) start(ctx context.Context) (*process, error) {
	stdio, err := g.cfg.Start(ctx, g.cfg.Agent.program(g.cfg.Model))
	if err != nil {
		if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
			return nil, err
		}
		return nil, &refusal{"it cannot be started in the workspace: " + err.Error()}
	}
	p := &process{wake: make(chan struct{}, 1), calls: map[string]acp.Call{}}
	p.mu.Lock() // its first messages wait for conn
	p.conn = acp.Connect(ctx, stdio, p)
	p.mu.Unlock()
	g.mu.Lock()
	g.at, g.ran = p, true
	g.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	if err := g.greet(within, p); err != nil {
		g.end(p)
		if within.Err() != nil && ctx.Err() == nil {
			return nil, &refusal{fmt.Sprintf("it gave no session within %s", greetTime)}
		}
		if errors.Is(err, acp.ErrGone) {
			return nil, &refusal{"it ended at once: is " + g.cfg.Agent.Command[0] + " in the image of the workspace?"}
		}
		return nil, err
	}
	return p, nil
}

// greet is the probe: the agent has to speak the protocol, and to confirm a mode in which
// it asks, and the model.
func (g *Guest) greet(ctx context.Context, p *process) error {
	var err error
	if p.about, err = p.conn.Initialize(ctx); err != nil {
		return probeError(err)
	}
	s, err := p.conn.NewSession(ctx, g.cfg.Root, acp.Server{
		Name:    serverName,
		Command: insideBinary,
		Args:    []string{"toolhost", "mcp"},
		Env:     []acp.Variable{},
	})
	if err != nil {
		return probeError(err)
	}
	p.session = s.ID
	if err := g.chooseMode(ctx, p, s); err != nil {
		return probeError(err)
	}
	return probeError(g.chooseModel(ctx, p, s.Options))
}

func probeError(err error) error {
	var no *refusal
	if err == nil || errors.As(err, &no) || errors.Is(err, acp.ErrGone) {
		return err
	}
	return &refusal{err.Error()}
}

// chooseMode sets the mode in which the agent asks, and reads it back.
func (g *Guest) chooseMode(ctx context.Context, p *process, s acp.Session) error {
	want := g.cfg.Agent.Mode
	if at := slices.IndexFunc(s.Options, func(o acp.Option) bool { return o.Category == "mode" }); at >= 0 {
		return chooseOption(ctx, p, s.Options[at], want)
	}
	if s.Modes == nil || len(s.Modes.All) == 0 {
		return nil // it has no modes: its configuration decides
	}
	modes := s.Modes.IDs()
	if want == "" {
		return &refusal{"it has modes, and acp.mode names none of them: " + strings.Join(modes, ", ")}
	}
	if !slices.Contains(modes, want) {
		return &refusal{fmt.Sprintf("it has no mode %q in which it asks; its modes: %s", want, strings.Join(modes, ", "))}
	}
	if err := p.conn.SetMode(ctx, p.session, want); err != nil {
		return err
	}
	if s.Modes.Current == want {
		return nil
	}
	for { // its own word for the mode
		e, err := p.await(ctx)
		switch {
		case err != nil:
			return err
		case e.update == nil || e.update.Kind != acp.ModeChanged:
		case e.update.Mode != want: //control:guest-mode-read-back
			return &refusal{fmt.Sprintf("it is in the mode %q, not %q, in which it asks", e.update.Mode, want)}
		default:
			return nil
		}
	}
}

// chooseOption sets an option unless it has the value, and reads it back.
func chooseOption(ctx context.Context, p *process, o acp.Option, want string) error {
	if want == "" {
		return &refusal{fmt.Sprintf("it has an option for its %s, and acp.mode names no value: %s",
			o.Category, strings.Join(o.Choices(), ", "))}
	}
	if o.Value() == want {
		return nil
	}
	if !slices.Contains(o.Choices(), want) {
		return &refusal{fmt.Sprintf("it offers no %s %q; there are: %s", o.Category, want, strings.Join(o.Choices(), ", "))}
	}
	now, err := p.conn.SetOption(ctx, p.session, o.ID, want)
	if err != nil {
		return err
	}
	for _, n := range now {
		if n.ID == o.ID && n.Value() == want { //control:guest-option-read-back
			return nil
		}
	}
	return &refusal{fmt.Sprintf("it did not confirm the %s %q", o.Category, want)}
}

// chooseModel sets the model if the agent lets clients choose, and reads it back. All models
// lead to the one of the session: see [Endpoint].
func (g *Guest) chooseModel(ctx context.Context, p *process, options []acp.Option) error {
	want := g.cfg.Agent.modelValue(g.cfg.Model)
	if want == "" {
		return nil
	}
	for _, o := range options {
		if o.Category == "model" {
			return chooseOption(ctx, p, o, want)
		}
	}
	return nil
}
