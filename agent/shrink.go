package agent

import (
	"context"
	"strings"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// compactIfNeeded makes room before the server would cut the conversation: it
// takes a larger window while there is one, and shortens the conversation
// then. A quarter of the window is left for the answer.
func (r *run) compactIfNeeded(ctx context.Context) error {
	need := r.tokens(compact.Size(r.build()))
	for need > r.window()*3/4 {
		if r.grow() {
			continue
		}
		if !r.canCompact() {
			return nil
		}
		return r.compact(ctx)
	}
	return nil
}

func (r *run) tokens(bytes int) int { return r.state.ratio.Tokens(bytes) }

func (r *run) canCompact() bool { return r.tail() < len(r.state.entries) }

// tail is the first entry that stays as it is. The task is not among those
// that can go.
func (r *run) tail() int {
	sizes := make([]int, len(r.state.entries))
	for i := range r.state.entries {
		sizes[i] = r.entrySize(r.state.entries[i])
	}
	return compact.Tail(sizes, int(float64(r.window())*compact.BytesPerToken/3))
}

func (r *run) entrySize(e entry) int {
	n := 0
	for _, m := range (&state{entries: []entry{e}}).messages(r.text) {
		n += compact.MessageSize(m)
	}
	return n
}

// compact replaces the older part of the conversation by a summary. Task,
// todo list and memory stay as they are, and so do the last turns.
func (r *run) compact(ctx context.Context) error {
	from := r.tail()
	old := r.state.entries[1:from]
	messages := (&state{entries: old}).messages(r.text)
	r.live(Live{Title: "Summarizing earlier steps"})
	limit := int(float64(r.window()) * compact.BytesPerToken / 2)
	text := r.summaryOf(ctx, compact.Transcript(messages, limit))
	if text == "" {
		text = compact.Fallback(messages, limit/4)
	}
	note := session.Note{
		Kind: noteCompaction, Before: old[len(old)-1].seq,
		Text: "[Earlier work in this session, summarized]\n" + text,
	}
	return r.record(ctx, session.NewEvent(session.TypeNote, r.state.turn, note))
}

// summaryOf asks the model for a summary; the empty string means that it
// could not give one.
func (r *run) summaryOf(ctx context.Context, transcript string) string {
	req := llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: compact.Instruction},
			{Role: llm.RoleUser, Content: transcript},
		},
		Context:   r.window(),
		MaxTokens: r.cfg.MaxTokens,
	}
	var b strings.Builder
	for p, err := range r.cfg.Model.Stream(ctx, req) {
		if err != nil {
			r.cfg.Log.WarnContext(ctx, "summary failed, shortening instead", "session", r.state.task.Session, "err", err)
			return ""
		}
		b.WriteString(p.Content)
	}
	_, text := splitThinking("", b.String())
	return strings.TrimSpace(stripComplete(r.calls.Parse(text).Text))
}

// memory is the session's notes as the prompt shows them.
func (r *run) memory() string { return r.state.notes.String() }
