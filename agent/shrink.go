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

// shrink makes room before the server would truncate the conversation: it grows the
// window if possible, and compacts the conversation otherwise. It also handles a request
// of the condense tool.
func (s *shrinker) shrink(ctx context.Context) error {
	if s.asked {
		s.asked = false
		if from := len(s.talk.entries) - 1; s.worthwhile(from) {
			return s.compact(ctx, from)
		}
	}
	need := s.need()
	for need > s.window.room() {
		if s.window.grow() {
			continue
		}
		if from := s.tail(); s.worthwhile(from) {
			if err := s.compact(ctx, from); err != nil {
				return err
			}
			need = s.need()
		}
		break
	}
	if need > s.window.limit() {
		return s.shorten(ctx)
	}
	return nil
}

// need returns the number of tokens of the next request.
func (s *shrinker) need() int { return s.window.tokens(compact.Size(s.requests.build())) }

// shorten cuts the middle out of long pieces of the conversation until it fits, as a last
// resort. The task and the last piece keep more than the rest. The cut is recorded, so
// that later requests repeat it.
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

// Bounds of one result, in percent of the window. The lower one holds even if the window
// is full.
const (
	maxResultShare = 18
	minResultShare = 6
)

// share returns the maximum size of the next result in bytes: its share of the window and
// of the room left for the results of the answer.
func (s *shrinker) share() int {
	size := s.window.size()
	left := (s.window.maxSize()*3/4 - s.need()) / max(len(s.Last), 1)
	return s.ratio.Bytes(max(size*minResultShare/100, min(size*maxResultShare/100, left))) //control:bounded-results
}

// bound shortens a result to its share.
func (s *shrinker) bound(text string) string {
	if len(text) <= s.ratio.Bytes(s.window.size()*minResultShare/100) {
		return text
	}
	return compact.Middle(text, s.share())
}

// minRepeat is the minimum length in bytes of a result that is not sent twice.
const minRepeat = 400

// shownAbove returns a reference to an identical earlier result, to be sent in place of
// content: models tend to read files again. The content is sent if the model insists, or
// if the earlier result was shortened or summarized.
func (s *shrinker) shownAbove(c *session.CallState, content string) (say string, yes bool) {
	if len(content) < minRepeat {
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
			case strings.HasPrefix(was.Result.Content, unchangedSince) &&
				pathArgument(was.Arguments) == pathArgument(c.Arguments):
				return "", false // it insists
			case was.Result.Content == content && (whole == 0 || len(content) <= whole): //control:not-sent-again
				return fmt.Sprintf(
					"%s turn %d. It stands above, in the result of %s of that turn. Go on with it; if you cannot see it, make this call once more.]",
					unchangedSince,
					was.Turn,
					c.Name,
				), true
			}
		}
	}
	return "", false
}

// unchangedSince is the beginning of a reference to an earlier result.
const unchangedSince = "[Unchanged since"

// makeRoom responds to a server that rejected the prompt as too long.
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

// worthwhile reports whether anything but user messages and an earlier summary precedes
// the entry from, which must exist.
func (s *shrinker) worthwhile(from int) bool {
	if from >= len(s.talk.entries) {
		return false
	}
	return slices.ContainsFunc(s.talk.entries[:max(from, 0)], func(e entry) bool { return !e.person && !e.summary })
}

// tail returns the first entry that is kept when the conversation is compacted. The task
// is always kept.
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

// compact replaces the entries before from by a summary. User messages and the last turns
// stay. The notes and the todo list become part of the summary, because the messages that
// carried them are removed.
func (s *shrinker) compact(ctx context.Context, from int) error {
	var old []entry
	earlier := "" // text of the previous summary, which is kept
	for _, e := range s.talk.entries[:from] {
		switch {
		case e.summary:
			_, earlier, _ = strings.Cut(e.user, "\n")
			earlier, _, _ = strings.Cut(earlier, carriedNotes)
		case !e.person && !e.isNoise(): //control:no-rubbish-summed-up
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
		Text: "[Earlier work in this session, summarized]\n" + text + s.carriedState(),
	}
	return s.record(ctx, session.NewEvent(session.TypeNote, s.Turns, note))
}

// carriedNotes separates a summary from the notes.
const carriedNotes = "\n\nNotes of this session:\n"

// carriedState returns the notes and the todo list for a summary.
func (s *shrinker) carriedState() string {
	var b strings.Builder
	if notes := s.notes.String(); notes != "" {
		b.WriteString(carriedNotes + strings.TrimSpace(notes))
	}
	if len(s.Todo) > 0 {
		b.WriteString("\n\nYour todo list:")
	}
	for _, t := range s.Todo {
		fmt.Fprintf(
			&b,
			"\n[%s] %s",
			map[session.TodoStatus]string{session.TodoDone: "x", session.TodoDoing: "-", session.TodoPending: " "}[t.Status],
			t.Text,
		)
	}
	return b.String()
}

// summaryOf asks the model for a summary; it returns "" on failure.
func (s *shrinker) summaryOf(ctx context.Context, transcript string) string {
	return s.model.askOnce(ctx, s.requests.plain([]llm.Message{
		{Role: llm.RoleSystem, Content: compact.Instruction},
		{Role: llm.RoleUser, Content: transcript},
	}))
}
