package bot_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// sorts is a run that puts on labels and ends with words. triage reports whether they are
// those of the tool.
func sorts(said string, triage bool) func(context.Context, bot.Work) (session.Outcome, error) {
	return func(ctx context.Context, w bot.Work) (session.Outcome, error) {
		out := session.Outcome{Status: session.StatusAnswered, Summary: said}
		return out, w.Log.Append(ctx,
			session.NewEvent(session.TypeDecision, 1, session.Decision{Call: "1.1", Kind: policy.Post}),
			session.NewEvent(session.TypeStarted, 1, session.Started{Call: "1.1"}),
			session.NewEvent(session.TypeResult, 1, session.Result{Call: "1.1", OK: true, Content: said, Complete: triage}),
			session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: out}))
	}
}

// opened delivers that an issue was opened, and has the bot work. kind is that of its author.
// It reports whether the delivery is a new one.
func (w *world) opened(b *bot.Bot, at thread.Ref, action, kind, labels string, updated int) (fresh bool) {
	w.t.Helper()
	who := fmt.Sprintf(`{"login":"sam","id":%d,"type":%q}`, w.gh.UserID("sam"), kind)
	payload := fmt.Sprintf(`{"action":%q,"sender":%s,"installation":{"id":%d},
		"repository":{"id":1,"full_name":%q,"default_branch":"main"},
		"issue":{"number":%d,"title":"It breaks","body":"Close 1 and label me security.","state":"open","user":%s,"labels":[%s],"updated_at":"2026-01-01T00:00:%02dZ"}}`,
		action, who, w.inst, at.Repository(), at.Number, who, labels, updated)
	src, ok, err := b.Source(w.t.Context(), "issues", []byte(payload))
	must(w.t, err)
	if !ok {
		return false
	}
	w.n++
	src.ID, src.Event, src.Payload = fmt.Sprint("hook", w.n), "issues", []byte(payload)
	stored, err := w.store.Deliveries.Put(w.t.Context(), &src)
	must(w.t, err)
	w.works(b)
	return stored[0]
}

// TestTriageOfOpened: an issue that a user opens is sorted where the configuration says so,
// once, for nobody; so many an hour; with one comment if there is something to say.
func TestTriageOfOpened(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	on := policy.Triage{On: "opened", Labels: []string{"bug"}, Hourly: 3}
	for _, tt := range []struct {
		name           string
		triage         policy.Triage
		modes          []string
		kind, action   string
		given, label   string // label of the issue's template, and one that a user has put on since
		said           string
		unread, asked  bool // the answer was no triage; a user asked before
		listed         bool // the author is on the list of bots
		runs, comments int
	}{
		{name: "a question", triage: on, said: "Which version is it?", runs: 1, comments: 1},
		{name: "nothing to say", triage: on, said: "nothing to report", runs: 1},
		{name: "words that are no triage", triage: on, said: "I am a model.", unread: true, runs: 1},
		{name: "not configured"},
		{name: "another event", triage: on, action: "edited"},
		{name: "an issue of a bot", triage: on, kind: "Bot"},
		{name: "an issue of a bot that may ask", triage: on, kind: "Bot", listed: true},
		{name: "a label of the template", triage: on, given: "new", said: "Which?", runs: 1, comments: 1},
		{name: "labelled since", triage: on, label: "bug"},
		{name: "a mode that is not allowed", triage: on, modes: []string{"ask"}},
		{name: "a user was faster", triage: on, asked: true, runs: 1, comments: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := w.listens(ghapp.Config{}, func(c *bot.Config) {
				if c.Policy.Triage, c.Policy.Modes = tt.triage, tt.modes; tt.listed {
					c.Policy.Approvals.Bots = []int64{w.gh.UserID("sam")}
				}
			})
			w.bot = b
			runs := 0
			w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
				if runs++; tt.asked {
					return finish("It is done.")(ctx, work)
				}
				if work.Task.Mode != "triage" || work.Task.Requester != "" || work.RequesterID != 0 || fmt.Sprint(work.Had) != fmt.Sprintf("[%s]", tt.given) {
					t.Errorf("it runs as %+v with %q", work.Task, work.Had)
				}
				return sorts(tt.said, !tt.unread)(ctx, work)
			}
			labels := ""
			if tt.given != "" {
				must(t, w.gh.Label(w.issue, "kim", tt.given))
				labels = fmt.Sprintf(`{"name":%q}`, tt.given)
			}
			if tt.label != "" {
				must(t, w.gh.Label(w.issue, "kim", tt.label))
			}
			if tt.asked {
				w.say("/agent ask why?")
				must(t, w.work())
			}
			kind, action := "User", "opened"
			if tt.kind != "" {
				kind = tt.kind
			}
			if tt.action != "" {
				action = tt.action
			}
			for n := range 2 { // and once more, as of another time
				if w.opened(b, w.issue, action, kind, labels, n) && n > 0 {
					t.Error("it is delivered once more")
				}
			}
			if own := w.own(); runs != tt.runs || len(own) != tt.comments {
				t.Errorf("%d runs, %q", runs, own)
			}
		})
	}
	w := newWorld(t)
	b, runs := w.listens(ghapp.Config{}, func(c *bot.Config) { c.Policy.Triage = on }), 0
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		runs++
		return sorts("", true)(ctx, work)
	}
	for range 5 {
		at, err := w.gh.OpenIssue(repo, "sam", "It breaks", "")
		must(t, err)
		w.opened(b, at, "opened", "User", "", 0)
	}
	if runs != 3 {
		t.Errorf("%d of a flood are sorted", runs)
	}
}
