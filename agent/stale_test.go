package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const oneRemoval = head + `
- calls: [{name: run_terminal_command, arguments: {command: rm -rf old}}]
- {say: "Done. [TASK_COMPLETE]", repeat: true}
`

// outside is what a session's approvals are bound to, and whether the person
// still counts.
type outside struct {
	facts []session.Fact
	why   string
	err   error
	asked int // how often the second look was taken
}

func (o *outside) bind(b *bench) {
	b.cfg.ApprovalFacts = func(context.Context) ([]session.Fact, error) { return o.facts, nil }
	b.cfg.Confirm = func(context.Context, session.Asked, session.Resolved) (string, error) {
		o.asked++
		return o.why, o.err
	}
}

// What an approval is bound to moved after the request or after the answer:
// nothing runs, people are told why, and a fresh request follows.
func TestApprovalGoesStale(t *testing.T) {
	longtest.Leave(t)
	start := []session.Fact{{Name: "base branch", Value: "main"}, {Name: "tip of the branch", Value: strings.Repeat("a", 40)}, {Name: "push by somebody else"}}
	with := func(i int, value string) []session.Fact {
		out := append([]session.Fact(nil), start...)
		out[i].Value = value
		return out
	}
	for name, tt := range map[string]struct {
		change func(*outside)
		words  string
	}{
		"it moved":      {func(o *outside) { o.facts = with(1, strings.Repeat("b", 40)) }, "the tip of the branch was aaaaaaaaaaaa and is bbbbbbbbbbbb now"},
		"retargeted":    {func(o *outside) { o.facts = with(0, "release") }, "the base branch was main and is release now"},
		"pushed":        {func(o *outside) { o.facts = with(2, "c0ffee") }, "there is a new push by somebody else: c0ffee"},
		"it is gone":    {func(o *outside) { o.facts = with(1, "") }, "the tip of the branch aaaaaaaaaaaa is gone"},
		"right is gone": {func(o *outside) { o.why = "kim has left" }, "kim has left"},
	} {
		for _, answered := range []bool{true, false} {
			if !answered && name == "right is gone" {
				continue // there was no answer yet
			}
			t.Run(name, func(t *testing.T) {
				o := &outside{facts: start}
				b := newBench(t, oneRemoval, map[string]string{"old/x": "1\n"})
				o.bind(b)
				b.must(session.StatusAwaitingApproval)
				if answered {
					b.answer("approved", "")
				} else { // something wakes the session while it waits
					b.append(session.NewEvent(session.TypeMessage, 0, session.Message{}))
				}
				tt.change(o)
				b.must(session.StatusAwaitingApproval)
				asked := events[session.Asked](b, session.TypeAsked)
				if len(asked) != 2 || asked[0].ID == asked[1].ID {
					t.Fatalf("%d requests, want a fresh one with an id of its own: %+v", len(asked), asked)
				}
				if got := strings.Join(asked[1].Reasons, "\n"); !strings.Contains(got, "it is asked again, because "+tt.words) {
					t.Errorf("the fresh request says %q, want %q", got, tt.words)
				}
				last := events[session.Resolved](b, session.TypeResolved)
				if r := last[len(last)-1]; r.ID != asked[0].ID || r.Verdict != "stale" || r.Reason != tt.words {
					t.Errorf("the first request ended as %+v", r)
				}
				if n := len(events[session.Started](b, session.TypeStarted)); n != 0 {
					t.Errorf("%d commands ran", n)
				}
				// The old id grants nothing, the fresh one does.
				b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: asked[0].ID, Verdict: "approved", By: "p"}))
				b.must(session.StatusAwaitingApproval)
				o.why = ""
				b.answer("approved", "")
				b.must(session.StatusDone)
				if n := len(events[session.Started](b, session.TypeStarted)); n != 1 {
					t.Errorf("%d commands ran after the fresh approval", n)
				}
			})
		}
	}
}

// When nobody can tell whether the approval still counts, nothing runs, and
// the session can be tried again.
func TestApprovalCannotBeConfirmed(t *testing.T) {
	o := &outside{err: errors.New("GitHub is away")}
	b := newBench(t, oneRemoval, map[string]string{"old/x": "1\n"})
	o.bind(b)
	b.must(session.StatusAwaitingApproval)
	b.answer("approved", "")
	if _, err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "GitHub is away") {
		t.Fatalf("the run ends with %v", err)
	}
	if n := len(events[session.Started](b, session.TypeStarted)); n != 0 {
		t.Fatalf("%d commands ran", n)
	}
	o.err = nil
	b.must(session.StatusDone)
	if o.asked != 2 {
		t.Errorf("looked %d times", o.asked)
	}
}

// A command that was asked for together with another one is not run on files
// that something nobody approved has changed since.
func TestUnapprovedStepInBetween(t *testing.T) {
	b := newBench(t, head+`
- calls:
  - {name: run_terminal_command, arguments: {command: rm -rf old}}
  - {name: run_terminal_command, arguments: {command: rm -rf older}}
  - {name: write_file, arguments: {path: a.txt, content: "new\n"}}
  - {name: run_terminal_command, arguments: {command: rm -rf oldest}}
- {say: "Done. [TASK_COMPLETE]", repeat: true}
`, map[string]string{"a.txt": "a\n", "old/x": "1\n", "older/x": "1\n", "oldest/x": "1\n"})
	b.must(session.StatusAwaitingApproval)
	asked := events[session.Asked](b, session.TypeAsked)
	if len(asked) != 2 {
		t.Fatalf("%d requests, want those two before the edit", len(asked))
	}
	for _, a := range asked {
		b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: a.ID, Verdict: "approved", By: "p"}))
	}
	b.must(session.StatusAwaitingApproval)
	if n := len(events[session.Started](b, session.TypeStarted)); n != 3 {
		t.Errorf("%d calls ran, want both commands and the edit", n)
	}
	b.answer("approved", "")
	b.must(session.StatusDone)
}

// The same where what comes in between could not be foreseen: the edit is of
// a file that the first command makes.
func TestUnforeseenStepInBetween(t *testing.T) {
	b := newBench(t, head+`
- calls:
  - {name: run_terminal_command, arguments: {command: cp a.txt b.txt && rm -rf old}}
  - {name: edit_file, arguments: {path: b.txt, old_string: a, new_string: b}}
  - {name: run_terminal_command, arguments: {command: rm -rf older}}
- {say: "Done. [TASK_COMPLETE]", repeat: true}
`, map[string]string{"a.txt": "a\n", "old/x": "1\n", "older/x": "1\n"})
	b.must(session.StatusAwaitingApproval)
	asked := events[session.Asked](b, session.TypeAsked)
	for _, a := range asked {
		b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: a.ID, Verdict: "approved", By: "p"}))
	}
	b.must(session.StatusAwaitingApproval)
	fresh := events[session.Asked](b, session.TypeAsked)
	if len(asked) != 2 || len(fresh) != 3 || fresh[2].Display != "rm -rf older" {
		t.Fatalf("%d requests, then %d: %+v", len(asked), len(fresh), fresh)
	}
	if got := strings.Join(fresh[2].Reasons, "\n"); !strings.Contains(got, "last step that nobody approved") {
		t.Errorf("the fresh request says %q", got)
	}
	b.answer("approved", "")
	b.must(session.StatusDone)
}

// takingBack is a log to which somebody else adds a denial right before a
// command begins.
type takingBack struct{ session.Log }

func (l *takingBack) Append(ctx context.Context, list ...*session.Event) error {
	for _, e := range list {
		if e.Type != session.TypeStarted {
			continue
		}
		all, err := l.Events(ctx, 0)
		if err != nil {
			return err
		}
		for _, old := range all {
			if a, err := session.Decode[session.Asked](old); err == nil && old.Type == session.TypeAsked {
				no := session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: a.ID, Verdict: "denied", By: "q"})
				if err := l.Log.Append(ctx, no); err != nil {
					return err
				}
			}
		}
	}
	return l.Log.Append(ctx, list...)
}

// A denial that comes in the very last moment wins.
func TestDenialRightBeforeTheStart(t *testing.T) {
	b := newBench(t, oneRemoval, map[string]string{"old/x": "1\n"})
	b.must(session.StatusAwaitingApproval)
	b.answer("approved", "")
	out, err := b.runOn(t.Context(), &takingBack{b.log})
	if err != nil || out.Status != session.StatusNoChanges && out.Status != session.StatusDone {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := b.results(); len(got) == 0 || !strings.Contains(got[0], "q denied this") {
		t.Errorf("results %q", got)
	}
}
