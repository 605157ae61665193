package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// countedLogs counts the events that this server stores. Those that it reads only tell
// the names of calls.
type countedLogs struct {
	store.Logs
	metrics *Metrics
}

// Log implements [store.Logs].
func (l countedLogs) Log(f store.Fence) session.Log {
	return countedLog{l.Logs.Log(f), l.metrics, f.Key}
}

// Apply implements [store.Logs].
func (l countedLogs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	err := l.Logs.Apply(ctx, f, c)
	if err == nil {
		l.metrics.stored(f.Key, c.Events)
	}
	return err
}

type countedLog struct {
	session.Log
	metrics *Metrics
	id      string
}

// Append implements [session.Log].
func (l countedLog) Append(ctx context.Context, events ...*session.Event) error {
	err := l.Log.Append(ctx, events...)
	if err == nil {
		l.metrics.stored(l.id, events)
	}
	return err
}

// Events implements [session.Log].
func (l countedLog) Events(ctx context.Context, after int64) ([]session.Event, error) {
	events, err := l.Log.Events(ctx, after)
	l.metrics.mu.Lock()
	defer l.metrics.mu.Unlock()
	for i, e := range events {
		payload, _ := l.metrics.learn(l.id, e, true)
		if p, over := payload.(*session.Ended); over && i == len(events)-1 && isEnd(p.Outcome.Status) {
			delete(l.metrics.sessions, l.id)
		}
	}
	return events, err
}

type countedLeases struct {
	store.Leases
	metrics *Metrics
}

// Heartbeat implements [store.Leases].
func (l countedLeases) Heartbeat(ctx context.Context, of store.Lease, ttl time.Duration) (store.Lease, error) {
	next, err := l.Leases.Heartbeat(ctx, of, ttl)
	if errors.Is(err, session.ErrFenced) {
		l.metrics.leasesLost.Inc()
	}
	return next, err
}

// known is the part of a running session that its results do not have themselves.
type known struct {
	seq   int64 // of the last event seen
	model string
	calls map[string]*call // those without a result
}

type call struct {
	tool           string
	served, begins bool
}

// maxKnown limits the sessions that are known. A result of another one is counted as
// that of an other tool.
const maxKnown = 1000

// learn takes the names in an event. It returns nil if the event is of no use, or of a
// newer version. An unknown session becomes known if all of its log is read, as a run
// does at its begin. The caller holds the lock.
func (m *Metrics) learn(id string, e session.Event, reads bool) (payload any, of *known) {
	switch e.Type {
	case session.TypeNote, session.TypePrompt, session.TypeCheckpoint, session.TypeState:
		return nil, nil
	}
	seq := e.Seq
	e, _ = e.Unwrap()
	payload, err := session.Payload(e)
	if err != nil {
		return nil, nil
	}
	of = m.sessions[id]
	if _, opened := payload.(*session.Opened); of == nil && (reads || opened) {
		of = &known{calls: map[string]*call{}}
		for old := range m.sessions {
			if len(m.sessions) < maxKnown {
				break
			}
			delete(m.sessions, old)
		}
		m.sessions[id] = of
	}
	if of == nil || seq <= of.seq {
		return payload, of
	}
	of.seq = seq
	switch p := payload.(type) {
	case *session.Opened:
		of.model = p.Task.Model
	case *session.Message:
		if p.Model != "" {
			of.model = p.Model
		}
	case *session.Answer:
		for _, c := range p.Calls {
			of.calls[c.ID] = &call{tool: c.Name}
		}
	case *session.Decision:
		if c := of.calls[p.Call]; c != nil {
			c.served = p.Kind == policy.MCP
		}
	case *session.Started:
		if c := of.calls[p.Call]; c != nil {
			c.begins = true
			m.tools[c.tool] = m.tools[c.tool] || !c.served // a call that begins is of a tool that exists
		}
	}
	return payload, of
}

// stored counts events that were just stored.
func (m *Metrics) stored(id string, events []*session.Event) {
	for _, e := range events {
		m.mu.Lock()
		payload, of := m.learn(id, *e, false)
		model, tool, begins := "", other, false
		if of != nil {
			model = of.model
		}
		if p, ok := payload.(*session.Result); ok && of != nil && of.calls[p.Call] != nil {
			tool, begins = m.toolOf(of.calls[p.Call]), of.calls[p.Call].begins
			delete(of.calls, p.Call)
		}
		end, over := payload.(*session.Ended)
		if over = over && e.Type != session.TypeTask && isEnd(end.Outcome.Status); over {
			delete(m.sessions, id)
		}
		m.mu.Unlock()
		switch p := payload.(type) {
		case *session.Answer:
			m.turns.WithLabelValues(m.model(model)).Inc()
			for _, c := range p.Calls {
				if c.Repaired {
					m.repairs.WithLabelValues(c.Dialect).Inc()
				}
			}
		case *session.Result:
			m.result(p, tool, begins)
		case *session.Ended:
			if over {
				m.ended.WithLabelValues(string(p.Outcome.Status)).Inc()
			}
		}
	}
}

// toolOf returns the label of a call: models make up names. The caller holds the lock.
func (m *Metrics) toolOf(c *call) string {
	switch {
	case c.served:
		return served
	case !m.tools[c.tool]: //control:metrics-labels
		return other
	}
	return c.tool
}

func (m *Metrics) result(p *session.Result, tool string, began bool) {
	outcome := "ok"
	switch {
	case p.Cut:
		outcome = "cut"
	case p.Mistake:
		outcome = "mistake"
	case !p.OK:
		outcome = "refused"
	}
	m.toolCalls.WithLabelValues(tool, outcome).Inc()
	switch {
	case p.Class != "":
		m.errors.WithLabelValues(string(p.Class)).Inc()
	case outcome != "ok":
		m.errors.WithLabelValues(other).Inc()
	}
	if began && !p.Cut {
		m.toolTime.WithLabelValues(tool).Observe((time.Duration(p.Millis) * time.Millisecond).Seconds())
	}
}
