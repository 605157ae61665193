package agent

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// Where an earlier request changed files and the last one did not, the end does not
// say that no file was changed.
func TestNoChangesAfterAnEarlierRequest(t *testing.T) {
	b := newBench(t, head+`
- calls: [{name: write_file, arguments: {path: a.txt, content: "new\n"}}]
- say: "Fixed. [TASK_COMPLETE]"
- {say: "Fixed b.txt, too. [TASK_COMPLETE]", repeat: true}
`, map[string]string{"a.txt": "old\n"})
	b.must(session.StatusDone)
	b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Author: "kim", Text: "fix b.txt too"}))
	b.must(session.StatusNoChanges)
	ends := events[session.Ended](b, session.TypeEnded)
	want := "The model said that it was done, but no file was changed for the last request. Earlier changes stay as they are."
	if got := ends[len(ends)-1].Outcome.Reason; got != want {
		t.Errorf("ended because %q, want %q", got, want)
	}
}
