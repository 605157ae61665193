package bot

import (
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// answers has kim give commands in one comment, and returns the words that
// the request is settled with, in order, and what is replied.
func (c *court) answers(cmds ...command.Command) (verdicts []string, replies string) {
	c.t.Helper()
	s := userMessage{key: "k", ev: ghapp.Event{Kind: "issue_comment"}, author: ghapp.User{ID: c.gh.UserID("kim"), Login: "kim"}}
	s.ev.Comment.ID, s.target.Comment = 1, 1
	got := c.w.change()
	for _, cmd := range cmds {
		if err := c.w.do(c.t.Context(), got, s, cmd); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, e := range got.Events {
		if e.Type == session.TypeResolved {
			r, err := session.Decode[session.Resolved](*e)
			if err != nil {
				c.t.Fatal(err)
			}
			verdicts = append(verdicts, strings.TrimSpace(string(r.Verdict)+" "+r.Reason))
		}
	}
	for _, in := range got.Intents {
		replies += string(in.Payload)
	}
	return verdicts, replies + strings.Join(got.replies, "\n")
}

// What an answer comes to when it arrives.
func TestAnswerArrives(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	approve, deny := command.Command{Name: "approve", IDs: []string{"abc123"}}, command.Command{Name: "deny", IDs: []string{"abc123"}, Text: "not today"}
	task := command.Command{Name: "task", Text: "also tidy up"}
	for name, tt := range map[string]struct {
		before func(c *court)
		cmds   []command.Command
		want   string
		reply  string
	}{
		"approved":              {nil, []command.Command{approve}, "approved", "+1"},
		"denied":                {nil, []command.Command{deny}, "denied not today", "-1"},
		"both in one comment":   {nil, []command.Command{approve, deny}, "approved, denied not today", ""},
		"the other way round":   {nil, []command.Command{deny, approve}, "denied not today", "was already denied by"},
		"approved, and a wish":  {nil, []command.Command{approve, task}, "approved", "eyes"},
		"a wish only":           {nil, []command.Command{task}, "withdrawn", "eyes"},
		"the base moved":        {(*court).moveBase, []command.Command{approve}, "approved", "+1"},
		"the base moved, a no":  {(*court).moveBase, []command.Command{deny}, "denied not today", "-1"},
		"too late":              {(*court).late, []command.Command{approve}, "expired the deadline has passed", "does not count: the deadline has passed"},
		"too late, a no counts": {(*court).late, []command.Command{deny}, "denied not today", "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, policy.DefaultConfig(), nil)
			if tt.before != nil {
				tt.before(c)
			}
			verdicts, replies := c.answers(tt.cmds...)
			if got := strings.Join(verdicts, ", "); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("settled as %q, want %q", got, tt.want)
			}
			if !strings.Contains(replies, tt.reply) {
				t.Errorf("replied %s, want %q", replies, tt.reply)
			}
		})
	}
}

func (c *court) moveBase() {
	if _, err := c.gh.Push(courtRepo, "main", "kim", map[string]string{"README.md": "y\n"}); err != nil {
		c.t.Fatal(err)
	}
}

// late has the request ask for an answer until a time that is over.
func (c *court) late() {
	bound, err := c.w.live.Approvals(&c.w.at, c.sess).Bound(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	c.append(session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "abc123", Verdict: policy.Stale}),
		session.NewEvent(session.TypeAsked, 1, session.Asked{ID: "abc123", Kind: "approval", Call: "c1-1", Display: "rm -rf x", Bound: bound,
			Deadline: time.Now().Add(-time.Second)}))
}
