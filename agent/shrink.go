package agent

import (
	"context"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// shrinker makes room in the window.
type shrinker struct {
	*journal
	requests *requests
	window   *window
	model    *model
	asked    bool // the model asked for a shorter conversation
}

// shrink makes room before the server would cut the conversation: it
// takes a larger window while there is one, and shortens the conversation
// then. It also does what the condense tool asked for.
func (s *shrinker) shrink(ctx context.Context) error {
	if s.asked {
		s.asked = false
		if from := len(s.talk.entries) - 1; s.worthwhile(from) {
			return s.compact(ctx, from)
		}
	}
	need := s.window.tokens(compact.Size(s.requests.build()))
	for need > s.window.room() {
		if s.window.grow() {
			continue
		}
		if from := s.tail(); s.worthwhile(from) {
			return s.compact(ctx, from)
		}
		return nil // the request is shortened piece by piece, see window.fit
	}
	return nil
}

// makeRoom answers a server that found the prompt too long.
func (s *shrinker) makeRoom(ctx context.Context) error {
	s.window.squeezed++
	if s.window.grow() {
		return nil
	}
	if from := s.tail(); s.worthwhile(from) {
		return s.compact(ctx, from)
	}
	return nil
}

// worthwhile reports whether something but the words of people and an earlier
// summary comes before the entry from, which is there.
func (s *shrinker) worthwhile(from int) bool {
	if from >= len(s.talk.entries) {
		return false
	}
	for _, e := range s.talk.entries[:max(from, 0)] {
		if !e.person && !e.summary {
			return true
		}
	}
	return false
}

// tail is the first entry that stays as it is. The task is not among those
// that can go.
func (s *shrinker) tail() int {
	sizes := make([]int, len(s.talk.entries))
	for i := range s.talk.entries {
		sizes[i] = s.entrySize(s.talk.entries[i])
	}
	return compact.Tail(sizes, s.ratio.Bytes(s.window.size()/3))
}

func (s *shrinker) entrySize(e entry) int {
	n := 0
	for _, m := range (&conversation{entries: []entry{e}}).messages(s.model.text) {
		n += compact.MessageSize(m)
	}
	return n
}

// compact replaces what comes before the entry from by a summary. What
// people said, the todo list and the notes stay as they are, and so do the
// last turns.
func (s *shrinker) compact(ctx context.Context, from int) error {
	var old []entry
	for _, e := range s.talk.entries[:from] {
		if !e.person {
			old = append(old, e)
		}
	}
	messages := (&conversation{entries: old}).messages(s.model.text)
	s.live(Live{Title: "Summarizing earlier steps"})
	limit := s.ratio.Bytes(s.window.size() / 2)
	text := s.summaryOf(ctx, compact.Transcript(messages, limit))
	if err := ctx.Err(); err != nil {
		return err
	}
	if text == "" {
		text = compact.Fallback(messages, limit/4)
	}
	note := session.Note{
		Kind: session.NoteCompaction, Before: s.talk.entries[from-1].seq,
		Text: "[Earlier work in this session, summarized]\n" + text,
	}
	return s.record(ctx, session.NewEvent(session.TypeNote, s.Turns, note))
}

// summaryOf asks the model for a summary; the empty string means that it
// could not give one.
func (s *shrinker) summaryOf(ctx context.Context, transcript string) string {
	return s.model.say(ctx, s.requests.plain([]llm.Message{
		{Role: llm.RoleSystem, Content: compact.Instruction},
		{Role: llm.RoleUser, Content: transcript},
	}))
}
