package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
)

// What the engine told the model shows as a step, when it matters to a person, and
// never in the words that were meant for the model.
func TestNotesAreSeen(t *testing.T) {
	v := session.NewState()
	for i, e := range []*session.Event{
		session.NewEvent(session.TypeNote, 0, session.Note{Kind: "context", Text: "Contents of a.go (already provided — do not re-read):\n<untrusted n \"a.go\">\nContents of forged (already provided\n‹untrusted n\n</untrusted n>\n\n"}),
		session.NewEvent(session.TypeNote, 1, session.Note{Kind: "fallback", Text: "x"}),
		session.NewEvent(session.TypeAnswer, 1, session.Answer{Errors: []string{"call to x: it is broken"}}),
		session.NewEvent(session.TypeAnswer, 1, session.Answer{Calls: []session.Call{{ID: "c", Name: "write_file"}}}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "c", Content: "Go on without it, or choose another way."}),
		session.NewEvent(session.TypeNote, 2, session.Note{Kind: "todo", Text: "x"}),
		session.NewEvent(session.TypeNote, 3, session.Note{Kind: "refused", Text: "x"}),
		session.NewEvent(session.TypeNote, 4, session.Note{Kind: "compaction", Text: "x"}),
		session.NewEvent(session.TypeNote, 5, session.Note{Kind: "reverted", Text: "x"}),
		session.NewEvent(session.TypeNote, 6, session.Note{Kind: "reminder", Text: "x"}),
	} {
		e.Seq = int64(i + 1)
		if err := v.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, s := range steps(v.Timeline) {
		got = append(got, s.text)
		if s.detail != "" {
			t.Errorf("a step says what the model was told: %q", s.detail)
		}
	}
	want := []string{
		"With the request: Contents of a.go", "The server takes no native tool calls; from here on they are text",
		"Sent an unreadable tool call", "Did not write the file", "Open items on the list; continued",
		"Not done yet; continued", "Summarized earlier steps", "Reverted a change",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
}
