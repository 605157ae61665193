package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/prose"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// conversation is the session as the model sees it, in order.
type conversation struct {
	nonce      string // marks the beginning and end of untrusted text
	entries    []entry
	asks       string         // latest words of the user after the task
	writes     bool           // the mode may change files
	cuts       []session.Note // the shortened pieces and their limits
	hidden     string         // the function to be written anew; "" means none
	line       *session.Line  // the line that the next answer corrects alone; nil means none
	unprovided string         // user messages and links with references that were not looked up yet
}

// entry is one piece of the conversation: an answer with its calls, or a message to the
// model.
type entry struct {
	seq      int64
	user     string
	provided string         // looked-up context of user, in logs of older versions
	context  []session.Item // looked-up context of user
	gone     bool           // discarded
	back     bool           // user replaces discarded answers
	person   bool           // user is a message of the user
	summary  bool           // user summarizes earlier entries
	nudge    bool           // user is the engine's reply to an invalid answer
	rules    bool           // user holds rules of the repository
	images   []session.Blob
	answer   *session.Answer
	calls    []*session.CallState
	line     *session.Line // the line that answer corrects; nil means none
}

func (t *conversation) open(e session.Event, task session.Task) {
	t.nonce = nonceOf(task)
	words := []string{task.Text}
	for _, it := range task.Context {
		if it.Kind == session.ItemPost {
			words = append(words, it.Text)
		}
	}
	t.unprovided = strings.Join(append(words, task.Links...), "\n")
	t.entries = append(t.entries, entry{
		seq: e.Seq, user: task.Text, context: task.Context, person: true, images: task.Images,
	})
}

// message adds a message of the user, which the model reads as say.
func (t *conversation) message(e session.Event, p *session.Message, say string) {
	t.hidden, t.line = "", nil
	if p.Text != "" {
		t.asks = session.Command(p.Text)
	}
	t.unprovided = strings.TrimSpace(strings.Join(append([]string{t.unprovided, p.Text}, p.Links...), "\n\n"))
	if len(say)+len(p.Images)+len(p.Context) > 0 {
		t.entries = append(t.entries, entry{
			seq: e.Seq, user: say, context: p.Context, person: true, images: p.Images,
		})
	}
}

// answer adds an answer. Words of the user that arrived meanwhile come behind it: the model
// did not know them, and each request stays a prefix of the next one.
func (t *conversation) answer(a entry) {
	a.line, t.line = t.line, nil
	at := len(t.entries)
	for a.answer.Seen > 0 && at > 0 && t.entries[at-1].person && t.entries[at-1].seq > a.answer.Seen {
		at--
	}
	t.entries = slices.Insert(t.entries, at, a)
}

func (t *conversation) note(e session.Event, p *session.Note) {
	switch {
	case p.Kind == session.NoteContext:
		t.putBefore(p)
	case p.Kind == session.NoteShortened:
		t.cuts = append(t.cuts, *p)
	case p.Before > 0:
		t.line = nil
		t.compact(e.Seq, p)
	case p.Text == "":
		t.takeBack(p.Back)
	case p.Call == "": // notes on a call are part of its result
		if p.Kind == session.NoteTests && p.Line == nil {
			t.hidden = p.Hide
		}
		t.line = p.Line
		t.takeBack(p.Back)
		t.entries = append(t.entries, entry{
			seq:    e.Seq,
			user:   p.Text,
			nudge:  p.Kind == session.NoteReminder || p.Kind == session.NoteFallback,
			back:   p.Back > 0,
			person: p.Kind == session.NoteSaid,
			rules:  p.Kind == session.NoteRules,
		})
		if p.Kind == session.NoteFallback && p.Form == string(llm.FormFiles) {
			t.refreshFiles()
		}
	}
}

// putBefore adds looked-up context to the latest user message.
func (t *conversation) putBefore(p *session.Note) {
	t.unprovided = ""
	for i := len(t.entries) - 1; i >= 0; i-- {
		if t.entries[i].person {
			t.entries[i].provided += p.Text
			t.entries[i].context = append(slices.Clone(t.entries[i].context), p.Items...)
			return
		}
	}
}

// provides reports whether the conversation contains looked-up context.
func (t *conversation) provides() bool {
	return slices.ContainsFunc(t.entries, func(e entry) bool {
		return e.provided != "" || len(e.context) > 0 || strings.Contains(e.user, session.CommandMark)
	})
}

// takeBack discards the answers from an event on, with their results and the engine's
// replies. User messages and rules stay.
func (t *conversation) takeBack(from int64) {
	if from == 0 {
		return
	}
	for i := len(t.entries) - 1; i >= 0; i-- {
		e := &t.entries[i]
		if e.seq < from && !e.back || e.person {
			return
		}
		e.gone = !e.rules
	}
}

// refreshFiles schedules a new look-up of the files for the latest user message, since they may
// have changed.
func (t *conversation) refreshFiles() {
	for i := len(t.entries) - 1; i >= 0; i-- {
		e := &t.entries[i]
		if !e.person {
			continue
		}
		e.provided = ""
		e.context = slices.DeleteFunc(slices.Clone(e.context), func(it session.Item) bool {
			return it.Kind == session.ItemFile || it.Kind == session.ItemExplicit
		})
		t.unprovided = e.user
		return
	}
}

// view returns the files visible to the model, in their latest version.
func (t *conversation) view() prose.View { return viewOf(t.entries) }

func viewOf(entries []entry) (out prose.View) {
	for _, e := range entries {
		if e.gone {
			continue
		}
		for _, it := range e.context {
			if it.Kind != session.ItemFile && it.Kind != session.ItemExplicit {
				continue
			}
			out = slices.DeleteFunc(out, func(f prose.File) bool { return f.Path == it.Name })
			out = append(out, prose.File{Path: it.Name, Text: it.Text, Part: it.Part})
		}
		for _, c := range e.calls {
			if path := pathArgument(c.Arguments); c.Name == "read_file" && c.Result != nil && c.Result.OK && path != "" &&
				!slices.ContainsFunc(out, func(f prose.File) bool { return f.Path == path }) {
				out = append(out, prose.File{Path: path, Text: plainFile(c.Result.Content)})
			}
		}
	}
	return out
}

// failed reports whether an answer to the user's latest message was discarded for its form, not for
// the tests that it made fail.
func (t *conversation) failed() bool {
	for i := len(t.entries) - 1; i >= 0 && !t.entries[i].person; i-- {
		if e := t.entries[i]; e.nudge && e.back {
			return true
		}
	}
	return false
}

// isNoise reports whether an entry is an answer without content, or the engine's reply to
// one.
func (e *entry) isNoise() bool {
	if e.answer == nil || e.gone {
		return e.nudge || e.gone
	}
	return len(e.calls) == 0 && (len(e.answer.Errors) > 0 || strings.TrimSpace(e.answer.Content) == "")
}

// cut returns the limit in bytes to which entry i is shortened, or 0 if it is not.
func (t *conversation) cut(i int) int {
	least := 0
	for _, c := range t.cuts {
		most := c.Most
		if i == 0 || t.entries[i].seq == c.Before {
			most *= 8
		}
		if t.entries[i].seq <= c.Before && (least == 0 || most < least) {
			least = most
		}
	}
	return least
}

// compact replaces everything up to p.Before by a summary, except user messages. The
// summary also replaces earlier summaries.
func (t *conversation) compact(seq int64, p *session.Note) {
	var said, kept []entry
	for _, e := range t.entries {
		switch {
		case e.summary: //control:one-summary
		case e.seq > p.Before:
			kept = append(kept, e)
		case e.person:
			said = append(said, e)
		}
	}
	said = append(said, entry{seq: seq, user: p.Text, summary: true})
	t.entries = append(said, kept...)
}

// renderItems renders items under labels that tell the model not to read them again. Their
// content is untrusted, so it is fenced with the session's nonce.
func renderItems(nonce string, items []session.Item) string {
	var b strings.Builder
	for _, it := range items {
		name := untrusted.EscapeLine(it.Name)
		switch {
		case it.Text == "" && it.Kind == session.ItemThread:
			fmt.Fprintf(&b, "[%s.]\n\n", name)
			continue
		case it.Kind == session.ItemRules: //control:rules-are-no-data
			fmt.Fprintf(&b, "%s:\n%s\n\n", it.Label(), it.Text)
			continue
		}
		text := untrusted.Fence(nonce, name, strings.TrimSuffix(it.Text, "\n")) //control:code-fence
		fmt.Fprintf(&b, "%s (already provided — do not re-read):\n%s\n\n", it.Label(), text)
	}
	return b.String()
}
