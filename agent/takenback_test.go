package agent

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// After a no to what a command made, the model is told what is so: the command ran,
// one part of its work is gone and the rest is there.
func TestToldWhatWasTakenBack(t *testing.T) {
	longtest.Leave(t)
	script := `- calls: [{name: run_terminal_command, arguments: {command: sh all.sh}}]`
	tool := `- calls: [{name: write_file, arguments: {path: deploy/x.yaml, content: "x\n"}}]`
	for name, tt := range map[string]struct {
		turn   string
		review bool
		answer session.Resolved
		want   string
	}{
		"by somebody":    {script, false, session.Resolved{Verdict: policy.Denied, By: "kim", Reason: "not now."}, "The command ran. The change to .env and CODEOWNERS was taken back. The rest of what it did stays. kim denied this: not now. Go on without it, or choose another way."},
		"at a terminal":  {script, false, session.Resolved{Verdict: policy.Denied, By: "the user at the terminal"}, "The command ran. The change to .env and CODEOWNERS was taken back. The rest of what it did stays. The user at the terminal denied this. Go on"},
		"by nobody":      {script, false, session.Resolved{Verdict: policy.Denied, Reason: "the terminal gave no answer"}, "stays. The request was denied: the terminal gave no answer. Go on"},
		"withdrawn":      {script, false, session.Resolved{Verdict: policy.Withdrawn}, "stays. The request was withdrawn by a new instruction or a stop. Follow the newest instruction."},
		"too late":       {script, false, session.Resolved{Verdict: policy.Expired}, "stays. The request was not answered in time. Go on without it"},
		"made by a tool": {tool, true, session.Resolved{Verdict: policy.Denied, By: "kim"}, "The change to deploy/x.yaml was taken back. kim denied this. Go on"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, head+"\n"+tt.turn+"\n- {say: \"Then not. [TASK_COMPLETE]\", repeat: true, optional: true}\n",
				map[string]string{"all.sh": "echo A=1 > .env; echo '* @me' > CODEOWNERS; echo x > free.txt\n"})
			if tt.review {
				b.cfg.Proposer = &proposals{}
			}
			b.must(session.StatusAwaitingApproval)
			a := events[session.Asked](b, session.TypeAsked)[0]
			if r := strings.Join(a.Reasons, "\n"); !tt.review && (!strings.Contains(r, ".env is a sensitive file (**/*.env)") || !strings.Contains(r, "CODEOWNERS is a sensitive file (")) {
				t.Errorf("the reasons name not every file:\n%s", r)
			}
			tt.answer.ID = a.ID
			b.append(session.NewEvent(session.TypeResolved, 0, tt.answer))
			if _, err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			told := ""
			for _, n := range events[session.Note](b, session.TypeNote) {
				if n.Kind == session.NoteReverted {
					told = n.Text
				}
			}
			if !strings.Contains(told, tt.want) || strings.Contains(told, "not run") || tt.review == strings.Contains(told, "The command ran") {
				t.Errorf("told %q, want %q", told, tt.want)
			}
			if got := b.states.published()["free.txt"]; !tt.review && got != "x\n" {
				t.Errorf("the rest is %q on the branch", got)
			}
		})
	}
}
