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
// then. It also does what the condense tool asked for.
func (r *run) compactIfNeeded(ctx context.Context) error {
	if r.condense {
		r.condense = false
		if from := len(r.state.talk.entries) - 1; r.worthwhile(from) {
			return r.compact(ctx, from)
		}
	}
	need := r.tokens(compact.Size(r.build()))
	for need > r.room() {
		if r.grow() {
			continue
		}
		if from := r.tail(); r.worthwhile(from) {
			return r.compact(ctx, from)
		}
		return nil // the request is shortened piece by piece, see fitted
	}
	return nil
}

// makeRoom answers a server that found the prompt too long.
func (r *run) makeRoom(ctx context.Context) error {
	r.squeezed++
	if r.grow() {
		return nil
	}
	if from := r.tail(); r.worthwhile(from) {
		return r.compact(ctx, from)
	}
	return nil
}

func (r *run) tokens(bytes int) int { return r.state.ratio.Tokens(bytes) }

// worthwhile says whether something but the words of people and an earlier
// summary comes before the entry from, which is there.
func (r *run) worthwhile(from int) bool {
	if from >= len(r.state.talk.entries) {
		return false
	}
	for _, e := range r.state.talk.entries[:max(from, 0)] {
		if !e.person && !e.summary {
			return true
		}
	}
	return false
}

// tail is the first entry that stays as it is. The task is not among those
// that can go.
func (r *run) tail() int {
	sizes := make([]int, len(r.state.talk.entries))
	for i := range r.state.talk.entries {
		sizes[i] = r.entrySize(r.state.talk.entries[i])
	}
	return compact.Tail(sizes, r.state.ratio.Bytes(r.window()/3))
}

func (r *run) entrySize(e entry) int {
	n := 0
	for _, m := range (&conversation{entries: []entry{e}}).messages(r.text) {
		n += compact.MessageSize(m)
	}
	return n
}

// compact replaces what comes before the entry from by a summary. What
// people said, the todo list and the notes stay as they are, and so do the
// last turns.
func (r *run) compact(ctx context.Context, from int) error {
	var old []entry
	for _, e := range r.state.talk.entries[:from] {
		if !e.person {
			old = append(old, e)
		}
	}
	messages := (&conversation{entries: old}).messages(r.text)
	r.live(Live{Title: "Summarizing earlier steps"})
	limit := r.state.ratio.Bytes(r.window() / 2)
	text := r.summaryOf(ctx, compact.Transcript(messages, limit))
	if err := ctx.Err(); err != nil {
		return err
	}
	if text == "" {
		text = compact.Fallback(messages, limit/4)
	}
	note := session.Note{
		Kind: session.NoteCompaction, Before: r.state.talk.entries[from-1].seq,
		Text: "[Earlier work in this session, summarized]\n" + text,
	}
	return r.record(ctx, session.NewEvent(session.TypeNote, r.state.Turns, note))
}

// summaryOf asks the model for a summary; the empty string means that it
// could not give one.
func (r *run) summaryOf(ctx context.Context, transcript string) string {
	return r.ask1(ctx, llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: compact.Instruction},
			{Role: llm.RoleUser, Content: transcript},
		},
		Context:   r.window(),
		MaxTokens: r.cfg.MaxTokens,
	})
}

// ask1 asks the model something beside the conversation and returns its
// words, or the empty string when it could not say anything. It asks once:
// whoever calls has another way.
func (r *run) ask1(ctx context.Context, req llm.Request) string {
	var b strings.Builder
	for p, err := range r.cfg.Model.Stream(ctx, req) {
		if err != nil {
			r.cfg.Log.WarnContext(ctx, "model gave no summary", "session", r.state.Task.Session, "err", err)
			return ""
		}
		b.WriteString(p.Content)
	}
	_, text := splitThinking("", b.String())
	return strings.TrimSpace(stripComplete(r.calls.Parse(text).Text))
}

// memory is the session's notes as the prompt shows them.
func (r *run) memory() string { return r.state.notes.String() }
