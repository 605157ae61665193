// Package llmtest is a scripted model server: a small real HTTP server with Ollama's API
// (/api/chat, /api/embed, /api/show, /api/version, /api/tags, /api/ps), streaming or not, that
// answers according to a [Script]. A [Dialect] adds another API; llmcheck.Dialect is the
// one of OpenAI-compatible servers. The server replaces a model in tests, in
// whole-program stories and in the demo, so it does not import testing.
//
// A script is written in YAML:
//
//	model: {name: scripted, tools: true, thinking: true, context: 32768}
//	turns:
//	- when: {last_contains: fix, has_tool: read_file}
//	  think: I should look.
//	  say: Let me read the file.
//	  calls: [{name: read_file, arguments: {path: greet.go}}]
//	- when: {tool_result_contains: Helo}
//	  text: |
//	    <tool_call>{"name": "write_file", "arguments": {"path": "greet.go"}}</tool_call>
//	- misbehave: {die_after_bytes: 40}
//	- say: Done. [TASK_COMPLETE]
//
// A request without a matching turn is answered with status 400 and counts as a failure,
// and so does a turn that is never served: [Server.Err] reports both.
//
// The output imitates recordings of Ollama 0.17.4, for its own API and for its
// OpenAI-compatible one.
package llmtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server serves a script. It is safe for concurrent use.
type Server struct {
	script  Script
	more    []Dialect
	url     string
	http    *http.Server
	done    chan struct{} // closed when the serving goroutine has ended
	closing chan struct{}
	close   sync.Once
	release chan struct{}
	stalled chan struct{}

	serving sync.WaitGroup // answers in progress

	mu       sync.Mutex
	convs    []*progress // one per conversation, the script's own turns last
	requests []*Request
	count    int // number of requests received
	faults   []error
	changed  chan struct{} // closed at the next request or fault
}

// progress is the progress of a conversation.
type progress struct {
	conv Conversation
	next int
	used []int // number of times that each turn was served
}

// Dialect adds the routes of another API to a server.
type Dialect func(s *Server, mux *http.ServeMux)

// Script returns the server's script.
func (s *Server) Script() Script { return s.script }

// Start serves the script on a free port of the loopback interface until Close.
func Start(script Script, more ...Dialect) (*Server, error) {
	s, err := New(script, more...)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start scripted model: %w", err)
	}
	s.url = "http://" + ln.Addr().String()
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: time.Minute}
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.fault(fmt.Errorf("serve: %w", err))
		}
	}()
	return s, nil
}

// New returns a server that does not listen; use its Handler.
func New(script Script, more ...Dialect) (*Server, error) {
	if err := script.check(); err != nil {
		return nil, fmt.Errorf("start scripted model: %w", err)
	}
	s := &Server{
		script:  script,
		more:    more,
		closing: make(chan struct{}),
		release: make(chan struct{}),
		stalled: make(chan struct{}, 1024),
		changed: make(chan struct{}),
	}
	for _, c := range script.Conversations {
		s.convs = append(s.convs, &progress{conv: c, used: make([]int, len(c.Turns))})
	}
	if len(script.Turns) > 0 {
		own := Conversation{Turns: script.Turns}
		s.convs = append(s.convs, &progress{conv: own, used: make([]int, len(script.Turns))})
	}
	return s, nil
}

// URL returns the server's address without a path; an OpenAI client adds /v1.
func (s *Server) URL() string { return s.url }

// Handler returns the server's handler, to be mounted elsewhere. It aborts some answers
// by panicking with [http.ErrAbortHandler], as net/http expects.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(
		"GET /{$}",
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("Ollama is running")) },
	)
	s.routeOllama(mux)
	for _, dialect := range s.more {
		dialect(s, mux)
	}
	return mux
}

// Close aborts the answers in progress, stops the server and waits until it has stopped.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closing)
		if s.http == nil {
			return
		}
		if err := s.http.Close(); err != nil {
			s.fault(fmt.Errorf("close: %w", err))
		}
		<-s.done
	})
}

// Release resumes one stalled answer; it waits until there is one or ctx ends.
func (s *Server) Release(ctx context.Context) error {
	select {
	case s.release <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("release answer: %w", context.Cause(ctx))
	}
}

// WaitStalled waits until an answer has stalled or ctx ends. Each stall is
// reported once.
func (s *Server) WaitStalled(ctx context.Context) error {
	select {
	case <-s.stalled:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for stalled answer: %w", context.Cause(ctx))
	}
}

// WaitServed waits until each turn that is not optional was served or a request did not match
// the script. If ctx ends first, it returns the missing turns.
func (s *Server) WaitServed(ctx context.Context) error {
	for {
		s.mu.Lock()
		missing, changed := s.unserved(), s.changed
		over := len(missing) == 0 || len(s.faults) > 0
		s.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for requests: %w: %w", context.Cause(ctx), errors.Join(missing...))
		}
	}
}

// tell wakes those who wait for a change. The caller holds the lock.
func (s *Server) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Idle waits until no answer is in progress.
func (s *Server) Idle(ctx context.Context) error {
	idle := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return errors.New("an answer that nobody reads goes on")
	}
}

// Requests returns the chat requests received so far, oldest first. The caller must not
// modify them.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Err reports deviations from the script: requests without a matching turn, and turns
// that were not served. It returns nil if there are none.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	faults := slices.Concat(s.faults, s.unserved())
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("scripted model, %d requests: %w", s.count, errors.Join(faults...))
}

// unserved returns an error for each turn that should have been served and was not. The caller
// holds the lock.
func (s *Server) unserved() (out []error) {
	for _, p := range s.convs {
		for i, n := range p.used {
			if t := p.conv.Turns[i]; n == 0 && !t.Optional {
				out = append(out, fmt.Errorf("%s was not served: %s", p.name(i), t.describe()))
			}
		}
	}
	return out
}

// Refused returns the number of requests without a matching turn.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.faults)
}

func (s *Server) fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, err)
	s.tell()
}

// asksTitle begins a request for the title of a change. It is outside of the conversation,
// and most scripts are not about it.
const asksTitle = "Write the title of this change"

// take records r and returns the turn that answers it. The error is also sent to the
// client.
func (s *Server) take(r *Request) (*Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(r.last().Content, asksTitle) {
		r.Turn = -1
		return &Turn{Say: s.script.Title}, nil
	}
	defer s.tell()
	s.add(r)
	t, err := s.find(r)
	if err != nil {
		err = fmt.Errorf("request %d: %w; it was %s", r.number, err, r.describe())
		s.faults = append(s.faults, err)
	}
	return t, err
}

// Reject records a request that is answered without a turn, as by a real server.
func (s *Server) Reject(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(r)
}

func (s *Server) add(r *Request) {
	s.count++
	r.Turn, r.number = -1, s.count
	if !s.script.Forget {
		s.requests = append(s.requests, r)
	}
}

func (s *Server) find(r *Request) (*Turn, error) {
	for _, p := range s.convs {
		if p.conv.When.unmet(r) != "" {
			continue
		}
		r.Conversation = p.conv.Name
		if s.script.Select == byConditions {
			return p.firstFitting(r)
		}
		return p.inOrder(r)
	}
	return nil, errors.New("it fits no conversation of the script")
}

func (p *progress) inOrder(r *Request) (*Turn, error) {
	if p.next >= len(p.conv.Turns) {
		return nil, fmt.Errorf("the script has no more turns after its %d", len(p.conv.Turns))
	}
	t := &p.conv.Turns[p.next]
	if why := t.When.unmet(r); why != "" {
		return nil, fmt.Errorf("%s wants %s", p.name(p.next), why)
	}
	return p.serve(p.next, r), nil
}

func (p *progress) firstFitting(r *Request) (*Turn, error) {
	for i := range p.conv.Turns {
		t := &p.conv.Turns[i]
		if (p.used[i] == 0 || t.Repeat) && t.When.unmet(r) == "" {
			return p.serve(i, r), nil
		}
	}
	return nil, errors.New("the conditions of no unused turn hold")
}

func (p *progress) serve(i int, r *Request) *Turn {
	p.used[i]++
	if t := &p.conv.Turns[i]; !t.Repeat {
		p.next = i + 1
	}
	r.Turn = i
	return &p.conv.Turns[i]
}

func (p *progress) name(i int) string {
	if p.conv.Name == "" {
		return fmt.Sprintf("turns[%d]", i)
	}
	return fmt.Sprintf("turns[%d] of %s", i, p.conv.Name)
}

func (t *Turn) describe() string {
	text := t.Say + t.Text
	if text == "" {
		text = t.Think
	}
	for _, c := range t.Calls {
		text += " " + c.Name + "(…)"
	}
	if t.Misdo.any() {
		text += " (misbehaves)"
	}
	return fmt.Sprintf("%q", cut(text))
}
