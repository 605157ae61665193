package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// clerk notes what was shown and whether the log had it by then.
type clerk struct {
	t   *testing.T
	b   *bench
	seq []int64 // of events that were shown
}

func (c *clerk) stored() []session.Event {
	c.t.Helper()
	all, err := c.b.log.Events(context.Background(), 0)
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

func (c *clerk) event(e session.Event) {
	all := c.stored()
	if e.Seq < 1 || int(e.Seq) > len(all) || all[e.Seq-1].Hash != e.Hash {
		c.t.Errorf("event %d (%s) was shown and is not in the log", e.Seq, e.Type)
	}
	c.seq = append(c.seq, e.Seq)
}

func (c *clerk) live(l Live) {
	if l.Call == "" {
		return
	}
	for _, e := range c.stored() {
		if s, err := session.Decode[session.Started](e); err == nil && e.Type == session.TypeStarted && s.Call == l.Call {
			return
		}
	}
	c.t.Errorf("%s runs and its start is not recorded", l.Call)
}

// Approve implements Approver: people are shown what is in the log.
func (c *clerk) Approve(_ context.Context, asked []session.Asked) ([]session.Resolved, error) {
	var out []session.Resolved
	for _, a := range asked {
		if !slices.ContainsFunc(c.stored(), func(e session.Event) bool {
			got, err := session.Decode[session.Asked](e)
			return err == nil && e.Type == session.TypeAsked && got.ID == a.ID
		}) {
			c.t.Errorf("request %s is shown and not recorded", a.ID)
		}
		out = append(out, session.Resolved{ID: a.ID, Verdict: "approved", By: "p"})
	}
	return out, nil
}

const shownScript = "model: {name: m, tools: true, context: 32768}\nselect: by-conditions\nturns:\n" + `
- when: {turn: 0}
  repeat: true
  calls:
  - {name: run_terminal_command, arguments: {command: rm -rf old && echo gone}}
  - {name: write_file, arguments: {path: .env, content: "A=1\n"}}
- when: {turn: 1}
  repeat: true
  say: "Done. [TASK_COMPLETE]"
`

func newClerk(t *testing.T) *clerk {
	b := newBench(t, shownScript, map[string]string{"a.txt": "a\n", "old/x": "1\n"})
	c := &clerk{t: t, b: b}
	b.cfg.OnEvent, b.cfg.OnLive, b.cfg.Approver = c.event, c.live, c
	return c
}

// Pending, requested, answered, running, finished: each is in the log before
// anybody sees it or anything happens, in this order for every call.
func TestRecordedBeforeShown(t *testing.T) {
	c := newClerk(t)
	c.b.must(session.StatusDone)
	order := map[string][]session.Type{}
	calls := map[string]string{} // request → call
	for _, e := range c.stored() {
		switch e.Type {
		case session.TypeDecision:
			d, _ := session.Decode[session.Decision](e)
			order[d.Call] = append(order[d.Call], e.Type)
		case session.TypeAsked:
			a, _ := session.Decode[session.Asked](e)
			calls[a.ID] = a.Call
			order[a.Call] = append(order[a.Call], e.Type)
		case session.TypeResolved:
			r, _ := session.Decode[session.Resolved](e)
			order[calls[r.ID]] = append(order[calls[r.ID]], e.Type)
		case session.TypeStarted:
			s, _ := session.Decode[session.Started](e)
			order[s.Call] = append(order[s.Call], e.Type)
		case session.TypeResult:
			r, _ := session.Decode[session.Result](e)
			order[r.Call] = append(order[r.Call], e.Type)
		}
	}
	want := []session.Type{session.TypeDecision, session.TypeAsked, session.TypeResolved, session.TypeStarted, session.TypeResult}
	for _, call := range []string{"c1-1", "c1-2"} {
		if !slices.Equal(order[call], want) {
			t.Errorf("%s went through %v, want %v", call, order[call], want)
		}
	}
	if len(c.seq) == 0 || !slices.IsSorted(c.seq) {
		t.Errorf("events were shown in the order %v", c.seq)
	}
}

// What a setting approved instead of a person is recorded as such, with the
// rule.
func TestAutomaticApprovalIsRecorded(t *testing.T) {
	b := newBench(t, head+`
- calls:
  - {name: run_terminal_command, arguments: {command: rm -rf old}}
  - {name: write_file, arguments: {path: .env, content: "A=1\n"}}
  - {name: run_terminal_command, arguments: {command: echo hello}}
- {say: "Done. [TASK_COMPLETE]", repeat: true}
`, map[string]string{"old/x": "1\n"})
	cfg, yes := policy.DefaultConfig(), true
	cfg.AutoApproveCommands, cfg.AutoApproveSensitiveEdits = &yes, &yes
	rules, err := policy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.cfg.Policy = rules
	b.must(session.StatusDone)
	var got []string
	for _, d := range events[session.Decision](b, session.TypeDecision) {
		got = append(got, fmt.Sprintf("%s by %s, automatic %t", d.Verdict, d.Rule, d.Auto))
	}
	want := []string{
		"allow by auto_approve_commands, automatic true",
		"allow by auto_approve_sensitive_edits, automatic true",
		"allow by defaults.execute, automatic false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// A log that takes nothing more lets nothing more be shown or run, whichever
// event it is.
func TestNothingShownThatIsNotRecorded(t *testing.T) {
	longtest.Leave(t)
	for n := 1; ; n++ {
		c := newClerk(t)
		_, err := c.b.runOn(t.Context(), &dyingLog{Log: c.b.log, at: n})
		stored := len(c.stored())
		if last := len(c.seq); last > 0 && int(c.seq[last-1]) != stored || last > stored {
			t.Errorf("append %d: %d events are stored, %v were shown", n, stored, c.seq)
		}
		if err == nil {
			if n < 8 {
				t.Errorf("only %d appends in the whole story", n-1)
			}
			return
		}
		if !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		c.b.must(session.StatusDone) // the next process goes on with what is recorded
	}
}
