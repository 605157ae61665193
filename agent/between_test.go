package agent

import (
	"context"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// TestDenialBetweenCalls denies the second of two approved commands while the
// first one runs: the second does not run any more.
func TestDenialBetweenCalls(t *testing.T) {
	b := newBench(t, head+`
- calls:
  - {name: run_terminal_command, arguments: {command: rm -rf old}}
  - {name: run_terminal_command, arguments: {command: rm -rf older}}
- when: {tool_result_contains: [leave it]}
  say: "Done. [TASK_COMPLETE]"
`, map[string]string{"old/x": "1\n", "older/x": "2\n"})
	b.must(session.StatusAwaitingApproval)
	asked := events[session.Asked](b, session.TypeAsked)
	for _, a := range asked {
		b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: a.ID, Verdict: "approved", By: "p", Key: "comment 1"}))
	}
	denied := false
	b.cfg.Inbox = func(context.Context) error {
		if len(events[session.Result](b, session.TypeResult)) == 1 && !denied {
			denied = true
			b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: asked[1].ID, Verdict: "denied", By: "p", Reason: "leave it", Key: "comment 2"}))
		}
		return nil
	}
	b.must(session.StatusDone)
	tree := b.states.published()
	if _, there := tree["old/x"]; there || !denied {
		t.Errorf("the approved command had no effect; denied between the calls: %t", denied)
	}
	if _, there := tree["older/x"]; !there {
		t.Error("a command ran after its denial")
	}
}
