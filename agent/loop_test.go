package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const head = "model: {name: m, tools: true, context: 32768}\nturns:\n"

func TestParkAndResume(t *testing.T) {
	script := head + `
- calls:
  - {name: write_file, arguments: {path: a.txt, content: "new\n"}}
  - {name: run_terminal_command, arguments: {command: rm -rf old}}
  - {name: run_terminal_command, arguments: {command: rm -rf older}}
- when: {tool_result_contains: [leave it]}
  say: "Done. [TASK_COMPLETE]"
`
	b := newBench(t, script, map[string]string{"a.txt": "old\n", "old/x": "1\n", "older/x": "2\n"})
	b.must(session.StatusAwaitingApproval)
	asked := events[session.Asked](b, session.TypeAsked)
	if len(asked) != 2 || asked[0].Display != "rm -rf old" || asked[1].Display != "rm -rf older" {
		t.Fatalf("asked %+v, want both commands asked together", asked)
	}
	b.must(session.StatusAwaitingApproval) // nothing new: the same answer, and nothing recorded
	if n := len(events[session.Asked](b, session.TypeAsked)); n != 2 {
		t.Fatalf("asked %d times", n)
	}
	b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: asked[0].ID, Verdict: "approved", By: "p"}))
	b.must(session.StatusAwaitingApproval)
	b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: asked[1].ID, Verdict: "denied", By: "p", Reason: "leave it"}))
	b.must(session.StatusDone)
	tree := b.states.published()
	if _, there := tree["old/x"]; there {
		t.Error("the approved command had no effect")
	}
	if _, there := tree["older/x"]; !there {
		t.Error("the denied command ran")
	}
	if tree["a.txt"] != "new\n" {
		t.Errorf("a.txt = %q", tree["a.txt"])
	}
}

// An approval is for what was shown. When what would run has changed since,
// it does not count and the new form is asked for.
func TestApprovalOfSomethingElse(t *testing.T) {
	script := head + `
- calls: [{name: write_file, arguments: {path: .env, content: "A=2\n"}}]
- say: "Done. [TASK_COMPLETE]"
`
	b := newBench(t, script, map[string]string{".env": "A=1\n"})
	b.must(session.StatusAwaitingApproval)
	first := events[session.Asked](b, session.TypeAsked)[0]
	b.states.trees["base"] = map[string]string{".env": "A=1\nSECRET=x\n"} // the file under the request changes
	b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: first.ID, Verdict: "approved", By: "p"}))
	b.must(session.StatusAwaitingApproval)
	asked := events[session.Asked](b, session.TypeAsked)
	if len(asked) != 2 || asked[1].Digest == asked[0].Digest || asked[1].ID == asked[0].ID {
		t.Fatalf("asked %d times, want the changed action asked anew: %+v", len(asked), asked)
	}
	if n := len(events[session.Started](b, session.TypeStarted)); n != 0 {
		t.Fatalf("%d calls started without a valid approval", n)
	}
	b.answer("approved", "")
	b.must(session.StatusDone)
	if got := b.states.published()[".env"]; got != "A=2\n" {
		t.Errorf(".env = %q", got)
	}
}

// A sensitive file changed by a shell command, not by an edit tool, waits at
// the door to the branch.
func TestShellRouteToASensitiveFile(t *testing.T) {
	script := head + `
- calls: [{name: run_terminal_command, arguments: {command: sh gen.sh}}]
- say: "Done. [TASK_COMPLETE]"
`
	files := map[string]string{"gen.sh": "mkdir -p .github/workflows; echo evil > .github/workflows/ci.yml; echo fine > b.txt\n"}
	for _, tt := range []struct {
		verdict policy.ApprovalState
		out     bool
	}{{"approved", true}, {"denied", false}} {
		t.Run(string(tt.verdict), func(t *testing.T) {
			b := newBench(t, script, files)
			b.must(session.StatusAwaitingApproval)
			asked := events[session.Asked](b, session.TypeAsked)[0]
			if asked.Tool != session.PublishTool || !strings.Contains(asked.Display, "evil") {
				t.Fatalf("asked %+v, want the diff of the workflow", asked)
			}
			if len(b.states.out) != 0 {
				t.Fatal("published before anybody answered")
			}
			b.answer(tt.verdict, "not now")
			b.must(session.StatusDone)
			for _, c := range b.states.out {
				if _, there := b.states.trees[c][".github/workflows/ci.yml"]; there && !tt.out {
					t.Error("the denied workflow was published")
				}
			}
			tree := b.states.published()
			if _, there := tree[".github/workflows/ci.yml"]; there != tt.out {
				t.Errorf("workflow on the branch: %t, want %t", there, tt.out)
			}
			if tree["b.txt"] != "fine\n" {
				t.Error("the harmless file was lost")
			}
		})
	}
}

// A process that dies at any append goes on where it was. A call that was cut
// off is told to the model as such, and nothing is started twice.
func TestCrashAtEveryAppend(t *testing.T) {
	longtest.Leave(t)
	script := "model: {name: m, tools: true, context: 32768}\nselect: by-conditions\nturns:\n" + `
- when: {turn: 0}
  repeat: true
  calls:
  - {name: run_terminal_command, arguments: {command: echo one >> a.txt}}
  - {name: write_file, arguments: {path: .env, content: "X=1\n"}}
  - {name: run_terminal_command, arguments: {command: echo two >> a.txt}}
- when: {turn: 1}
  repeat: true
  say: "Done. [TASK_COMPLETE]"
`
	for n := 1; ; n++ {
		b := newBench(t, script, map[string]string{"a.txt": ""})
		kills := b.untilDone(n)
		want, lines, cut := "", []string{"one\n", "", "two\n"}, 0
		for i, r := range events[session.Result](b, session.TypeResult) {
			if r.Cut {
				cut++
			} else {
				want += lines[i]
			}
			if r.Cut == r.OK || r.Cut && !strings.Contains(r.Content, "ended with the workspace") {
				t.Errorf("killed at append %d: result %d: %+v", n, i, r)
			}
		}
		if got := b.states.published()["a.txt"]; got != want || cut > kills {
			t.Errorf("killed at append %d: a.txt = %q, want %q; %d calls cut off", n, got, want, cut)
		}
		begun := map[string]bool{}
		for _, s := range events[session.Started](b, session.TypeStarted) {
			if begun[s.Call] {
				t.Errorf("killed at append %d: %s was started twice", n, s.Call)
			}
			begun[s.Call] = true
		}
		if asked := events[session.Asked](b, session.TypeAsked); len(asked) != 1 {
			t.Errorf("killed at append %d: asked %d times, want one request for one use", n, len(asked))
		}
		all, err := b.log.Events(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Verify(all); err != nil {
			t.Errorf("killed at append %d: %v", n, err)
		}
		if kills == 0 {
			if n < 8 {
				t.Fatalf("only %d appends in the whole story", n-1)
			}
			return
		}
	}
}

// untilDone works on the session with a log that dies at the n-th append,
// approves what is asked, and reports how often it died.
func (b *bench) untilDone(n int) (kills int) {
	b.t.Helper()
	log := &dyingLog{Log: b.log, at: n}
	for range 10 {
		out, err := b.runOn(b.t.Context(), log)
		switch {
		case errors.Is(err, errDied):
			kills++
		case err != nil:
			b.t.Fatalf("killed at append %d: %v", n, err)
		case out.Status == session.StatusAwaitingApproval:
			b.answer("approved", "")
		case out.Status == session.StatusDone:
			return kills
		default:
			b.t.Fatalf("killed at append %d: %s (%s)", n, out.Status, out.Reason)
		}
	}
	b.t.Fatalf("killed at append %d: never done", n)
	return 0
}

var errDied = errors.New("died")

// dyingLog fails at the n-th append, as a killed process would.
type dyingLog struct {
	session.Log
	at int
}

func (d *dyingLog) Append(ctx context.Context, events ...*session.Event) error {
	if d.at--; d.at == 0 {
		return errDied
	}
	return d.Log.Append(ctx, events...)
}
