package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	for s.need() > s.window.room() {
		if s.window.grow() {
			continue
		}
		if from := s.tail(); s.worthwhile(from) {
			if err := s.compact(ctx, from); err != nil {
				return err
			}
		}
		break
	}
	if s.need() > s.window.limit() {
		return s.shorten(ctx)
	}
	return nil
}

// need is how many tokens the next request takes.
func (s *shrinker) need() int { return s.window.tokens(compact.Size(s.requests.build())) }

// shorten cuts long pieces of the conversation in their middle until it fits, when
// nothing else helps: the older ones first, the task and the last one after them. It is
// recorded, so that what was cut stays as it is.
func (s *shrinker) shorten(ctx context.Context) error {
	n := len(s.talk.entries)
	if n == 0 {
		return nil
	}
	best, size := session.Note{}, s.need()
	for _, c := range compact.Cuts {
		try := session.Note{Kind: session.NoteShortened, Before: s.talk.entries[n-1].seq, Most: c}
		s.talk.cuts = append(s.talk.cuts, try)
		now := s.need()
		s.talk.cuts = s.talk.cuts[:len(s.talk.cuts)-1]
		if now < size {
			best, size = try, now
		}
		if size <= s.window.room() {
			break
		}
	}
	if best.Most == 0 {
		return nil
	}
	return s.record(ctx, session.NewEvent(session.TypeNote, s.Turns, best)) //control:recorded-cuts
}

// What one result may take of the window, in percent, and what it may take however full
// that is.
const (
	mostOfWindow  = 18
	leastOfWindow = 6
)

// share is how many bytes the next result may have: its share of the window, and of the
// room that is left for those of an answer.
func (s *shrinker) share() int {
	size := s.window.size()
	left := (s.window.most()*3/4 - s.need()) / max(len(s.Last), 1)
	return s.ratio.Bytes(max(size*leastOfWindow/100, min(size*mostOfWindow/100, left))) //control:bounded-results
}

// bound shortens a result to its share.
func (s *shrinker) bound(text string) string {
	if len(text) <= s.ratio.Bytes(s.window.size()*leastOfWindow/100) {
		return text
	}
	return compact.Middle(text, s.share())
}

// leastAgain is the length in bytes from which a result is not sent a second time.
const leastAgain = 400

// shownAbove returns what a call is told in the place of a content that stands above
// already, unchanged: models read files again instead of the conversation. Where they ask
// once more they get it, and so they do where it was shortened or summarized since.
func (s *shrinker) shownAbove(c *session.CallState, content string) (say string, yes bool) {
	if len(content) < leastAgain {
		return "", false
	}
	same := func(was *session.CallState) bool {
		return was != c && was.Name == c.Name && was.Result != nil && was.Result.OK
	}
	for i := len(s.talk.entries) - 1; i >= 0; i-- {
		whole := s.talk.cut(i)
		for _, was := range slices.Backward(s.talk.entries[i].calls) {
			switch {
			case !same(was):
			case strings.HasPrefix(was.Result.Content, unchangedSince) && pathArgument(was.Arguments) == pathArgument(c.Arguments):
				return "", false // it asks for it again
			case was.Result.Content == content && (whole == 0 || len(content) <= whole): //control:not-sent-again
				return fmt.Sprintf("%s turn %d. It stands above, in the result of %s of that turn. Go on with it; if you cannot see it, make this call once more.]", unchangedSince, was.Turn, c.Name), true
			}
		}
	}
	return "", false
}

// unchangedSince begins what is said in the place of a content that stands above.
const unchangedSince = "[Unchanged since"

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
	return slices.ContainsFunc(s.talk.entries[:max(from, 0)], func(e entry) bool { return !e.person && !e.summary })
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
	for _, m := range (&conversation{entries: []entry{e}, cuts: s.talk.cuts}).messages(s.model.form) {
		n += compact.MessageSize(m)
	}
	return n
}

// compact replaces what comes before the entry from by a summary. What people said
// stays as it is, and so do the last turns. The notes and the todo list go with the
// summary: what carried them so far is gone.
func (s *shrinker) compact(ctx context.Context, from int) error {
	var old []entry
	earlier := "" // what the summary before this one says: it is kept whole
	for _, e := range s.talk.entries[:from] {
		switch {
		case e.summary:
			_, earlier, _ = strings.Cut(e.user, "\n")
			earlier, _, _ = strings.Cut(earlier, carriedNotes)
		case !e.person && !e.rubbish(): //control:no-rubbish-summed-up
			old = append(old, e)
		}
	}
	messages := (&conversation{entries: old, cuts: s.talk.cuts}).messages(s.model.form)
	s.live(Live{Title: "Summarizing earlier steps"})
	limit := s.ratio.Bytes(s.window.size() / 2)
	if earlier = compact.Middle(earlier, limit/4); earlier != "" {
		earlier += "\n\n"
	}
	text := s.summaryOf(ctx, earlier+compact.Transcript(messages, limit*3/4))
	if err := ctx.Err(); err != nil {
		return err
	}
	if compact.Empty(text) {
		text = earlier + compact.Fallback(messages, limit/4) //control:earlier-summary
	}
	note := session.Note{
		Kind: session.NoteCompaction, Before: s.talk.entries[from-1].seq,
		Text: "[Earlier work in this session, summarized]\n" + text + s.carried(),
	}
	return s.record(ctx, session.NewEvent(session.TypeNote, s.Turns, note))
}

// carriedNotes stands between a summary and the notes.
const carriedNotes = "\n\nNotes of this session:\n"

// carried is what a summary carries besides: the notes and the todo list.
func (s *shrinker) carried() string {
	var b strings.Builder
	if notes := s.notes.String(); notes != "" {
		b.WriteString(carriedNotes + strings.TrimSpace(notes))
	}
	if len(s.Todo) > 0 {
		b.WriteString("\n\nYour todo list:")
	}
	for _, t := range s.Todo {
		fmt.Fprintf(&b, "\n[%s] %s", map[session.TodoStatus]string{session.TodoDone: "x", session.TodoDoing: "-", session.TodoPending: " "}[t.Status], t.Text)
	}
	return b.String()
}

// summaryOf asks the model for a summary; the empty string means that it
// could not give one.
func (s *shrinker) summaryOf(ctx context.Context, transcript string) string {
	return s.model.say(ctx, s.requests.plain([]llm.Message{
		{Role: llm.RoleSystem, Content: compact.Instruction},
		{Role: llm.RoleUser, Content: transcript},
	}))
}
