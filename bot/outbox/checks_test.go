package outbox

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
)

// The check run of a review has its findings on their lines, each once.
func TestNotesOfAReview(t *testing.T) {
	find := func(seq int64, f session.Finding) session.Reported {
		f.Path, f.Line, f.Claim, f.Why = "a.go", int(seq), "c", "w"
		return session.Reported{Finding: &f, Seq: seq}
	}
	list := []session.Reported{find(1, session.Finding{}), find(2, session.Finding{Severity: session.High, End: 4}), find(3, session.Finding{Old: true}),
		find(4, session.Finding{Refuted: "no"}), find(5, session.Finding{Severity: session.Low}), find(6, session.Finding{Severity: session.High, Unsure: "who knows"})}
	note := func(from, to int, level string) ghapp.Annotation {
		return ghapp.Annotation{Path: "a.go", From: from, To: to, Level: level, Title: "c", Text: "w"}
	}
	if diff := cmp.Diff([]ghapp.Annotation{note(2, 4, "warning"), note(5, 5, "notice"), note(6, 6, "notice")}, notes(list, 1)); diff != "" {
		t.Error(diff)
	}
	for n := range 80 {
		list = append(list, find(int64(10+n), session.Finding{Why: fmt.Sprint(n)}))
	}
	if got := len(notes(list, 0)); got != maxNotes {
		t.Errorf("%d notes, GitHub takes %d", got, maxNotes)
	}
}
