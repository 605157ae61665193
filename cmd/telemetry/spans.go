package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// tracedLog is the log of a run. Its events become spans.
type tracedLog struct {
	session.Log
	spans *spans

	mu    sync.Mutex
	begun []session.Event // those before the run, until the run asks for them
}

// Append implements [session.Log]. Events after those of another writer wait until the
// run has read these.
func (l *tracedLog) Append(ctx context.Context, events ...*session.Event) error {
	err := l.Log.Append(ctx, events...)
	if err == nil {
		l.spans.wrote(events)
	}
	return err
}

// Events implements [session.Log]. The first reading of the whole log begins with the
// events that the trace has read before.
func (l *tracedLog) Events(ctx context.Context, after int64) ([]session.Event, error) {
	var known []session.Event
	if after == 0 {
		l.mu.Lock()
		known, l.begun = l.begun, nil
		l.mu.Unlock()
	}
	if n := len(known); n > 0 {
		after = known[n-1].Seq
	}
	events, err := l.Log.Events(ctx, after)
	if err != nil {
		return nil, err
	}
	l.spans.read(events)
	return append(known, events...), nil
}

// spans makes the spans of a run from its events, each once and in order.
type spans struct {
	traces *Traces
	id     string
	root   context.Context //nolint:containedctx // the parent of spans of events, which have no context
	begin  int64           // events up to this one belong to earlier runs

	mu    sync.Mutex
	seq   int64
	last  time.Time // of the event before
	calls map[string]*tracedCall
	asked map[string]tracedAsk
}

type tracedCall struct {
	session.Call
	served bool
	begun  time.Time
}

type tracedAsk struct {
	at   time.Time
	tool string
	kind session.AskKind
}

func newSpans(t *Traces, id string, root trace.Span, begin int64) *spans {
	return &spans{
		traces: t,
		id:     id,
		root:   trace.ContextWithSpan(context.Background(), root),
		begin:  begin,
		calls:  map[string]*tracedCall{},
		asked:  map[string]tracedAsk{},
	}
}

func (s *spans) wrote(events []*session.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if e.Seq == s.seq+1 {
			s.take(*e)
		}
	}
}

func (s *spans) read(events []session.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if e.Seq == s.seq+1 {
			s.take(e)
		}
	}
}

// take makes the span that an event ends. The caller holds the lock.
func (s *spans) take(e session.Event) {
	before := s.last
	s.seq, s.last = e.Seq, e.Time
	inner, _ := e.Unwrap()
	payload, err := session.Payload(inner)
	if err != nil {
		return // of a newer version
	}
	switch p := payload.(type) {
	case *session.Answer:
		for _, c := range p.Calls {
			s.calls[c.ID] = &tracedCall{Call: c}
		}
	case *session.Decision:
		if c := s.calls[p.Call]; c != nil {
			c.served = p.Kind == policy.MCP
		}
	case *session.Started:
		if c := s.calls[p.Call]; c != nil {
			c.begun = e.Time
		}
	case *session.Asked:
		s.asked[p.ID] = tracedAsk{e.Time, p.Tool, p.Kind}
	case *session.Resolved:
		if a, ok := s.asked[p.ID]; ok {
			delete(s.asked, p.ID)
			s.waited(e, a, p.Verdict)
		}
	case *session.Result:
		if c := s.calls[p.Call]; c != nil {
			delete(s.calls, p.Call)
			s.called(e, c, p)
		}
	case *session.Checkpoint:
		s.saved(e, before, p)
	}
}

// span makes a span that has ended with an event. It returns nil for an event of an
// earlier run.
func (s *spans) span(e session.Event, name string, from time.Time, with ...trace.SpanStartOption) trace.Span {
	if e.Seq <= s.begin {
		return nil
	}
	if from.IsZero() || from.After(e.Time) {
		from = e.Time
	}
	with = append(with, trace.WithTimestamp(from), trace.WithAttributes(conversationKey.String(s.id)))
	_, span := s.traces.tracer.Start(s.root, name, with...)
	return span
}

func (s *spans) called(e session.Event, c *tracedCall, p *session.Result) {
	span := s.span(e, executeTool+" "+c.Name, c.begun)
	if span == nil {
		return
	}
	kind := "function"
	if c.served {
		kind = "extension"
	}
	span.SetAttributes(
		operationKey.String(executeTool), toolKey.String(c.Name), toolTypeKey.String(kind), toolCallKey.String(c.ID),
	)
	if s.traces.cfg.Redact != nil { //control:traces-without-contents
		span.SetAttributes(
			argumentsKey.String(s.traces.content(string(c.Arguments))), resultKey.String(s.traces.content(p.Content)),
		)
	}
	if p.Class != "" || !p.OK || p.Mistake {
		class := string(p.Class)
		if class == "" {
			class = "_OTHER"
		}
		span.SetAttributes(errorKey.String(class))
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(e.Time))
}

// waited makes the span of a request that was answered. It may begin in an earlier run.
func (s *spans) waited(e session.Event, a tracedAsk, verdict policy.ApprovalState) {
	name := "wait_for_approval"
	if a.kind == session.AskQuestion {
		name = "wait_for_answer"
	}
	span := s.span(e, name, a.at)
	if span == nil {
		return
	}
	span.SetAttributes(verdictKey.String(string(verdict)))
	if a.tool != "" {
		span.SetAttributes(toolKey.String(a.tool))
	}
	span.End(trace.WithTimestamp(e.Time))
}

// saved makes the span of a checkpoint: saving takes the time since the event before.
func (s *spans) saved(e session.Event, before time.Time, p *session.Checkpoint) {
	name := "checkpoint"
	if p.Parked {
		name = "save"
	}
	span := s.span(e, name, before)
	if span == nil {
		return
	}
	added, removed := 0, 0
	for _, f := range p.Files {
		added, removed = added+f.Added, removed+f.Removed
	}
	span.SetAttributes(filesKey.Int(len(p.Files)), addedKey.Int(added), removedKey.Int(removed))
	span.End(trace.WithTimestamp(e.Time))
}
