package telemetry

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Model returns a model of one run whose answers are measured. Its requests are compared
// with each other. nil measures nothing.
func Model(inner llm.Model, m *Metrics, t *Traces, s *Speeds) llm.Model {
	if m == nil && t == nil && s == nil {
		return inner
	}
	return &measuredModel{Model: inner, metrics: m, traces: t, speeds: s}
}

type measuredModel struct {
	llm.Model
	metrics *Metrics
	traces  *Traces
	speeds  *Speeds

	mu     sync.Mutex
	before llm.Request // the request before
}

// Stream implements [llm.Model].
func (m *measuredModel) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		begin := time.Now()
		ctx, chat := m.traces.chat(ctx, m.Name(), req)
		var last llm.Part
		var first time.Duration
		var failed error
		defer func() {
			chat.end(last, first, failed)
			m.metrics.answered(m.Name(), last, first)
			m.speeds.take(m.Name(), last, first, time.Since(begin))
			m.sent(req, first > 0)
		}()
		for part, err := range m.Model.Stream(ctx, req) {
			if failed = err; err == nil {
				if first == 0 {
					first = max(time.Since(begin), 1)
				}
				chat.take(part)
				last = part
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

// answered counts the tokens of an answer, and the time of its first part; first is 0 if
// none came.
func (m *Metrics) answered(name string, last llm.Part, first time.Duration) {
	if m == nil || first == 0 {
		return
	}
	name = m.model(name)
	m.firstToken.WithLabelValues(name).Observe(first.Seconds())
	for kind, n := range map[string]int{"prompt": last.PromptTokens, "answer": last.AnswerTokens, "cached": last.CachedTokens} {
		m.tokens.WithLabelValues(name, kind).Add(float64(max(0, n)))
	}
}

// sent counts the bytes of a request that was answered.
func (m *measuredModel) sent(req llm.Request, answered bool) {
	if m.metrics == nil || !answered {
		return
	}
	m.mu.Lock()
	all, same := common(m.before, req)
	m.before = req
	m.mu.Unlock()
	name := m.metrics.model(m.Name())
	m.metrics.promptBytes.WithLabelValues(name, "reused").Add(float64(same))
	m.metrics.promptBytes.WithLabelValues(name, "new").Add(float64(all - same))
}

// common returns the size of a request, and of its beginning that the request before it
// has, too.
func common(before, req llm.Request) (all, same int) {
	goesOn := len(before.Messages) > 0 && len(before.Tools) == len(req.Tools)
	for i, t := range req.Tools {
		n := len(t.Name) + len(t.Description) + len(t.Parameters)
		goesOn = goesOn && before.Tools[i].Name == t.Name && before.Tools[i].Description == t.Description
		all += n
		if goesOn {
			same += n
		}
	}
	for i, msg := range req.Messages {
		n := length(msg)
		all += n
		if !goesOn || i >= len(before.Messages) {
			goesOn = false
			continue
		}
		old := before.Messages[i]
		if goesOn = equal(old, msg); goesOn {
			same += n
			continue
		}
		if old.Role == msg.Role && old.Thinking == msg.Thinking {
			same += prefix(old.Content, msg.Content)
		}
	}
	return all, same
}

func length(m llm.Message) int {
	n := len(m.Content) + len(m.Thinking)
	for _, c := range m.Calls {
		n += len(c.Name) + len(c.Arguments)
	}
	return n
}

func equal(a, b llm.Message) bool {
	if a.Role != b.Role || a.Content != b.Content || a.Thinking != b.Thinking || a.ToolName != b.ToolName ||
		len(a.Calls) != len(b.Calls) || len(a.Images) != len(b.Images) {
		return false
	}
	for i := range a.Calls {
		if a.Calls[i].Name != b.Calls[i].Name || string(a.Calls[i].Arguments) != string(b.Calls[i].Arguments) {
			return false
		}
	}
	return true
}

func prefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
