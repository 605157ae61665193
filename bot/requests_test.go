package bot_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// asks is a run that asks for so many things in one turn and parks; it ends
// when all are settled. Every tenth is critical, long ones have much to show.
func asks(n, size int) func(context.Context, bot.Work) (session.Outcome, error) {
	return func(ctx context.Context, w bot.Work) (session.Outcome, error) {
		events, err := w.Log.Events(ctx, 0)
		if err != nil {
			return session.Outcome{}, err
		}
		state, err := session.Fold(events)
		if err != nil {
			return session.Outcome{}, err
		}
		if len(state.Requests) == n && len(state.Open()) == 0 {
			return finish("All is settled.")(ctx, w)
		}
		bound, err := w.ApprovalFacts(ctx)
		if err != nil {
			return session.Outcome{}, err
		}
		for i := len(state.Requests); i < n; i++ {
			a := session.Asked{
				ID: fmt.Sprintf("%06x", 0xabc000+i), Kind: session.AskApproval, Call: fmt.Sprint("c", i), Tool: "run_terminal_command",
				Display: fmt.Sprint("rm -rf dir", i, strings.Repeat(" x", size/2)), Severity: "high", Bound: bound, Digest: strings.Repeat("d", 64),
			}
			if i%10 == 9 {
				a.Severity = "critical"
			}
			if err := w.Log.Append(ctx, session.NewEvent(session.TypeAsked, 1, a)); err != nil {
				return session.Outcome{}, err
			}
		}
		out := session.Outcome{Status: session.StatusAwaitingApproval}
		return out, w.Log.Append(ctx, session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: out}))
	}
}

func (w *world) requests() (out []string) {
	for _, body := range w.own() {
		if strings.Contains(body, "handrail:ask-") {
			out = append(out, body)
		}
	}
	return out
}

// Forty requests of one turn are one comment, the critical ones first; each is
// answered for itself, and the comment says what became of it. What does not
// fit is split, and nothing is shown twice.
func TestFortyRequests(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	w.run = asks(40, 0)
	c := w.counted(nil)
	w.say("/agent clean up")
	must(t, w.work())
	list := w.requests()
	if len(list) != 1 || len(w.own()) != 2 || c.writes > 5 {
		t.Fatalf("%d requests in %d comments, %d writes", len(list), len(w.own()), c.writes)
	}
	last := -1
	for _, i := range []int{9, 19, 29, 39, 0, 1, 38} { // in the order that they must have
		id := fmt.Sprintf("Approval `%06x`", 0xabc000+i)
		at := strings.Index(list[0], id)
		if at <= last || strings.Count(list[0], id) != 1 {
			t.Errorf("%s is at %d, behind %d", id, at, last)
		}
		last = at
	}
	before := c.writes
	w.say("/agent approve abc009\n\n/agent approve abc000\n\n/agent approve abc001")
	must(t, w.work())
	w.say("/agent deny abc002 not this one")
	must(t, w.work())
	got := w.requests()
	if len(got) != 1 || !strings.Contains(got[0], "36 open") {
		t.Fatalf("after four answers %d comments, want one with 36 open requests:\n%.600s", len(got), got)
	}
	for text, want := range map[string]int{"approved by kim in comment": 3, "denied by kim": 1} {
		if n := strings.Count(got[0], text); n != want {
			t.Errorf("after four answers the comment has %q %d times, want %d:\n%.600s", text, n, want, got[0])
		}
	}
	if c.writes > before+8 { // two signs, two edits of each comment
		t.Errorf("%d writes for two answers", c.writes-before)
	}
	row, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	events, err := w.store.Logs.Log(store.Fence{Key: row.ID}).Events(t.Context(), 0)
	must(t, err)
	state, err := session.Fold(events)
	must(t, err)
	for i, r := range state.Requests {
		want := map[int]policy.ApprovalState{0: policy.Approved, 1: policy.Approved, 9: policy.Approved, 2: policy.Denied}[i]
		if want != "" && r.Approval.State != want || want == "" && !r.Approval.IsPending() {
			t.Errorf("request %d is %q, want %q", i, r.Approval.State, want)
		}
	}
	before = c.writes
	must(t, w.work())
	if c.writes != before {
		t.Errorf("%d writes without anything new", c.writes-before)
	}
}

func TestRequestsThatDoNotFit(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	w.run = asks(30, 5000)
	w.say("/agent clean up")
	must(t, w.work())
	w.say("/agent deny abc003")
	must(t, w.work())
	list := w.requests()
	if len(list) < 2 || len(list) > 4 {
		t.Errorf("%d comments", len(list))
	}
	for i := range 30 {
		if n := w.count(fmt.Sprintf("Approval `%06x`", 0xabc000+i)); n != 1 {
			t.Errorf("request %d is shown %d times", i, n)
		}
	}
	for _, body := range list {
		if len([]rune(body)) > 65536 || strings.Contains(body, "cut here") {
			t.Errorf("a comment of %d characters", len([]rune(body)))
		}
	}
	if !strings.Contains(list[0], "critical") {
		t.Error("the critical ones are not first")
	}
}
