package agent

import (
	"context"
	"slices"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// learnModel asks once what the model can do.
func (r *run) learnModel(ctx context.Context) error {
	if r.learned {
		return nil
	}
	caps, err := r.capabilities(ctx)
	if err != nil {
		return err
	}
	r.caps, r.learned = caps, true
	r.text = !caps.Tools || r.state.textOnly
	return nil
}

// A session begins with a window that a laptop can afford, or with the larger
// one that the model's operator chose, and gets a larger one when it outgrows
// it, as far as the model goes: growing costs the server a reload,
// summarizing costs what the model knew.
const (
	firstContext = 32768
	mostContext  = 131072
)

// window is the context to work in, in tokens.
func (r *run) window() int {
	n := r.cfg.Context
	if n == 0 {
		n = max(firstContext, r.caps.ContextSet, r.grown)
	}
	if r.caps.ContextLength > 0 {
		n = min(n, r.caps.ContextLength)
	}
	return n
}

// grow takes the next larger window, if the model has one to give.
func (r *run) grow() bool {
	now := r.window()
	limit := min(mostContext, r.caps.ContextLength)
	if r.cfg.Context != 0 || now >= limit {
		return false
	}
	r.grown = min(now*2, limit)
	return true
}

// mostSqueezes is how often a prompt is made shorter than thought necessary
// when the server still finds it too long.
const mostSqueezes = 3

// room is how many tokens of the window a prompt may take; the rest is for
// the answer. It shrinks when the server counts more than was estimated.
func (r *run) room() int {
	n := r.window() * 3 / 4
	for range r.squeezed {
		n = n * 7 / 10
	}
	return n
}

// offered lists the tools that the mode can use now. Leaving the others out
// is a courtesy to the model; the gate is what refuses them.
func (r *run) offered() []llm.ToolSpec {
	spent := r.mode.EditLimit != policy.NoEditLimit && r.modeEdits() >= r.mode.EditLimit
	out := make([]tools.Spec, 0, len(r.tools.Specs()))
	size := 0
	for _, s := range r.tools.Specs() {
		changes := s.Kind == policy.Write || s.Kind == policy.Delete
		if s.Kind != policy.Read && !r.mode.Allows(s.Kind) || changes && spent {
			continue
		}
		out = append(out, s)
		size += len(s.Name) + len(s.Description) + len(s.Parameters)
	}
	if r.tokens(size) > r.window()/3 {
		out = slices.DeleteFunc(out, func(s tools.Spec) bool { return !s.Essential })
	}
	return tools.ForModel(out)
}

// modeEdits counts the edits that the mode's limit is about.
func (r *run) modeEdits() int { return r.state.Edits - r.state.used.modeFrom }

// fitted shortens what a request says until it fits, when nothing else helps.
func (r *run) fitted(req llm.Request) llm.Request {
	limit := r.state.ratio.Bytes(r.room() + r.window()/8)
	if r.squeezed > 0 {
		limit = r.state.ratio.Bytes(r.room())
	}
	if over := compact.Size(req) - limit; over > 0 {
		own := compact.Size(llm.Request{Messages: req.Messages})
		req.Messages = compact.Fit(req.Messages, own-over)
	}
	return req
}
