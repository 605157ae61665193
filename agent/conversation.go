package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// conversation is what the model is told of its session, in order.
type conversation struct {
	nonce      string // in the marks around what others wrote
	entries    []entry
	asks       string         // latest words of a person after the task
	cuts       []session.Note // which pieces were shortened, and how far
	unprovided string         // words of a person, and where their links lead, whose context was not looked up yet
}

// entry is one piece of conversation: an answer with its calls, or words for
// the model.
type entry struct {
	seq      int64
	user     string
	provided string // what was looked up for user
	person   bool   // user is what a person said
	summary  bool   // user stands for earlier entries
	nudge    bool   // user is what the engine said to an answer that was none
	images   []session.Blob
	answer   *session.Answer
	calls    []*session.CallState
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
		seq: e.Seq, user: task.Text, provided: provided(t.nonce, task.Context), person: true, images: task.Images,
	})
}

func (t *conversation) message(e session.Event, p *session.Message) {
	if p.Text != "" {
		t.asks = session.Command(p.Text)
	}
	t.unprovided = strings.TrimSpace(strings.Join(append([]string{t.unprovided, p.Text}, p.Links...), "\n\n"))
	if len(p.Text)+len(p.Images)+len(p.Context) > 0 {
		t.entries = append(t.entries, entry{
			seq: e.Seq, user: p.Text, provided: provided(t.nonce, p.Context), person: true, images: p.Images,
		})
	}
}

func (t *conversation) note(e session.Event, p *session.Note) {
	switch {
	case p.Kind == session.NoteContext:
		t.putBefore(p.Text)
	case p.Kind == session.NoteShortened:
		t.cuts = append(t.cuts, *p)
	case p.Before > 0:
		t.compact(e.Seq, p)
	case p.Text != "" && p.Call == "": // what belongs to a call stands with its result
		t.entries = append(t.entries, entry{seq: e.Seq, user: p.Text, nudge: p.Kind == session.NoteReminder})
	}
}

// putBefore puts what was looked up in front of the latest words of a person.
func (t *conversation) putBefore(text string) {
	t.unprovided = ""
	for i := len(t.entries) - 1; i >= 0; i-- {
		if t.entries[i].person {
			t.entries[i].provided += text
			return
		}
	}
}

// provides reports whether something was looked up for what people said, or stands above it.
func (t *conversation) provides() bool {
	return slices.ContainsFunc(t.entries, func(e entry) bool { return e.provided != "" || strings.Contains(e.user, session.CommandMark) })
}

// rubbish reports whether an entry is an answer that says and does nothing, or what the
// engine said to one.
func (e *entry) rubbish() bool {
	if e.answer == nil {
		return e.nudge
	}
	return len(e.calls) == 0 && (len(e.answer.Errors) > 0 || strings.TrimSpace(e.answer.Content) == "")
}

// cut returns to how many bytes the pieces of an entry are shortened, 0 for not at all.
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

// compact replaces everything up to p.Before by a summary, except what people
// said. A summary stands for those before it as well.
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

// provided puts items under labels that say that they need not be read again.
// What they hold was written by anyone, so it stands between the session's
// marks.
func provided(nonce string, items []session.Item) string {
	var b strings.Builder
	for _, it := range items {
		name := untrusted.EscapeLine(it.Name)
		label := "Contents of " + name
		switch it.Kind {
		case session.ItemSelection:
			label = "The person's selected code from " + name
		case session.ItemPost, session.ItemThread:
			label = name
		}
		if it.Text == "" && it.Kind == session.ItemThread {
			fmt.Fprintf(&b, "[%s.]\n\n", name)
			continue
		}
		text := untrusted.Fence(nonce, name, strings.TrimSuffix(it.Text, "\n")) //control:code-fence
		fmt.Fprintf(&b, "%s (already provided — do not re-read):\n%s\n\n", label, text)
	}
	return b.String()
}
