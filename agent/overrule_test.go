package agent

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// An approval that was given and not used yet can be undone: by a denial,
// or because it stopped counting. The other way round nothing changes.
func TestApprovalOverruled(t *testing.T) {
	longtest.Leave(t)
	script := head + `
- calls:
  - {name: run_terminal_command, arguments: {command: rm -rf one}}
  - {name: run_terminal_command, arguments: {command: rm -rf two}}
- {say: "Done. [TASK_COMPLETE]", repeat: true}
`
	for _, tt := range []struct {
		name            string
		first, second   policy.ApprovalState
		runs, asksAgain bool
	}{
		{"one denial wins", "approved", "denied", false, false},
		{"it stopped counting", "approved", "stale", false, true},
		{"withdrawn", "approved", "withdrawn", false, false},
		{"a denial stays", "denied", "approved", false, false},
		{"approved twice", "approved", "approved", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, script, map[string]string{"one/x": "1\n", "two/x": "2\n"})
			b.must(session.StatusAwaitingApproval)
			asked := events[session.Asked](b, session.TypeAsked)
			// The second command is answered while the first keeps the session parked.
			for _, v := range []policy.ApprovalState{tt.first, tt.second} {
				b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: asked[1].ID, Verdict: v, By: "p"}))
			}
			b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: asked[0].ID, Verdict: "denied", By: "p"}))
			if tt.asksAgain {
				b.must(session.StatusAwaitingApproval)
				if n := len(events[session.Asked](b, session.TypeAsked)); n != 3 {
					t.Errorf("%d requests, want the second one again", n)
				}
				b.answer("denied", "")
			}
			if _, err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := len(events[session.Started](b, session.TypeStarted)); (n == 1) != tt.runs {
				t.Errorf("%d commands ran, want one to run: %t", n, tt.runs)
			}
		})
	}
}
