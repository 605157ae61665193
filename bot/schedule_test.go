package bot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestScheduleReads: a scheduled session acts for nobody. It changes files only where
// people are asked, whatever the delivery says that begins it.
func TestScheduleReads(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for _, tt := range []struct {
		mode, unattended string
		want             bool
	}{{"ask", "", true}, {"review", "deny", true}, {"code", "", false}, {"code", "deny", false}, {"code", "ask", true}} {
		w := newWorld(t)
		s := schedule.Start{Mode: tt.mode, Task: "look", Installation: w.inst, Entry: schedule.Entry{Repository: repo, Schedule: policy.Schedule{Name: "n", Unattended: tt.unattended}}}
		payload, err := json.Marshal(s)
		must(t, err)
		_, err = w.store.Deliveries.Put(t.Context(), &store.Delivery{ID: "run", Key: "run", Event: schedule.Event, Thread: w.issue.Key(), Payload: payload})
		must(t, err)
		began := false
		w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
			if began = true; work.Task.Requester != "" || work.RequesterID != 0 {
				t.Errorf("it acts for %q, %d", work.Task.Requester, work.RequesterID)
			}
			return finish("Nothing to report.")(ctx, work)
		}
		must(t, w.work())
		if began != tt.want {
			t.Errorf("%+v: it begins %t", tt, began)
		}
	}
	w := newWorld(t)
	if _, taken, err := w.bot.Source(t.Context(), schedule.Event, []byte(`{"mode":"code"}`)); err != nil || taken {
		t.Errorf("one from outside is taken: %t %v", taken, err)
	}
}

// killed is a database whose server dies before it notes what became of a schedule.
type killed struct{ store.Meta }

func (killed) Swap(context.Context, string, []byte, []byte) error { return errors.New("killed") }

// scheduledIn is a world with a schedule of the server's.
func scheduledIn(t *testing.T, s policy.Schedule) (w *world, with func(store.Meta) *bot.Bot, due func(minute int)) {
	w = newWorld(t)
	with = func(meta store.Meta) *bot.Bot {
		return w.listens(ghapp.Config{}, func(c *bot.Config) { c.Policy.Schedules, c.Store.Meta = []policy.Schedule{s}, meta })
	}
	return w, with, func(minute int) {
		at := time.Date(2026, 1, 1, 3, minute, 0, 0, time.UTC)
		d, err := schedule.Start{Entry: schedule.Entry{Schedule: s, Repository: repo}, At: at, Installation: w.inst}.Delivery()
		must(t, err)
		_, err = w.store.Deliveries.Put(t.Context(), &d)
		must(t, err)
	}
}

// works has a bot work until nothing waits.
func (w *world) works(b *bot.Bot) {
	w.t.Helper()
	for {
		list, err := w.store.Wakes.Waiting(w.t.Context(), 10)
		must(w.t, err)
		if len(list) == 0 {
			return
		}
		must(w.t, b.Work(w.t.Context(), list[0].Thread))
	}
}

// state is the open or closed issue of the only schedule, and how many comments it has.
func (w *world) state() (state string, comments, issues int) {
	must(w.t, w.gh.As("", repo, func(r *hub.Repo, _ *hub.User) error {
		for _, is := range r.Issues {
			if is.Title == "Schedule: n" {
				state, comments, issues = is.State, len(is.Comments), issues+1
			}
		}
		return nil
	}))
	return state, comments, issues
}

// TestScheduleKilled: a server that dies in the middle of beginning a run leaves it to the
// next, which begins it once, in one issue.
func TestScheduleKilled(t *testing.T) {
	t.Parallel()
	w, with, due := scheduledIn(t, policy.Schedule{Name: "n", Cron: "0 3 * * *", Kind: "review"})
	runs := 0
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		runs++
		return finish("A fault.")(ctx, work)
	}
	due(0)
	dies := with(killed{w.store.Meta})
	must(t, dies.Work(t.Context(), repo+"#0"))
	waiting, err := w.store.Wakes.Waiting(t.Context(), 10)
	must(t, err)
	if len(waiting) != 1 || dies.Work(t.Context(), waiting[0].Thread) == nil {
		t.Fatal("it did not die")
	}
	b := with(w.store.Meta)
	w.works(b)
	due(0) // the same once more
	due(1) // another, of the same commit
	w.works(b)
	if _, comments, issues := w.state(); runs != 1 || issues != 1 || comments != 1 {
		t.Errorf("%d runs, %d issues, %d comments", runs, issues, comments)
	}
}

// hearsMeanwhile has what is due reach a run that is at work.
func (w *world) hearsMeanwhile(ctx context.Context, b *bot.Bot, work bot.Work) {
	w.t.Helper()
	must(w.t, b.Work(ctx, repo+"#0"))
	must(w.t, work.Inbox(ctx))
}

// TestScheduleOverlap: no run begins while the one before has not ended.
func TestScheduleOverlap(t *testing.T) {
	t.Parallel()
	w, with, due := scheduledIn(t, policy.Schedule{Name: "n", Cron: "0 3 * * *", Task: "look"})
	b, runs := with(w.store.Meta), 0
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		if runs++; runs == 1 { // while it runs
			due(1)
			w.hearsMeanwhile(ctx, b, work)
		}
		return finish("A fault.")(ctx, work)
	}
	due(0)
	w.works(b)
	st, err := schedule.Book{Meta: w.store.Meta}.State(t.Context(), repo, "n")
	must(t, err)
	if said := fmt.Sprint(st.Past); runs != 1 || !strings.Contains(said, "left out: the previous run has not ended") {
		t.Errorf("%d runs: %s", runs, said)
	}
}

// TestScheduleUnread: what a run of a review failed to read, or left out because the one
// before had not ended, is read by the next one.
func TestScheduleUnread(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w, with, due := scheduledIn(t, policy.Schedule{Name: "n", Cron: "0 3 * * *", Kind: "review"})
	b, runs := with(w.store.Meta), 0
	read := func() string {
		st, err := schedule.Book{Meta: w.store.Meta}.State(t.Context(), repo, "n")
		must(t, err)
		return st.Commit
	}
	fails := session.Outcome{Status: session.StatusFailed, Reason: "the model is gone"}
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		runs++
		return fails, work.Log.Append(ctx, session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: fails}))
	}
	due(0)
	w.works(b)
	if read() != "" || runs != 1 {
		t.Errorf("%d runs; after one that failed all up to %q is read", runs, read())
	}
	first := w.gh.Branch(repo, "main")
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		if runs++; runs == 2 { // while it runs
			w.commits()
			due(2)
			w.hearsMeanwhile(ctx, b, work)
		}
		return finish("A fault.")(ctx, work)
	}
	due(1)
	w.works(b)
	if read() != first || runs != 2 {
		t.Errorf("%d runs; %q is read, not %q", runs, read(), first)
	}
	due(3)
	w.works(b)
	if now := w.gh.Branch(repo, "main"); read() != now || runs != 3 || now == first {
		t.Errorf("%d runs; %q is read, not %q", runs, read(), now)
	}
}

// TestScheduleClosed: the issue of a schedule that a person closed stays closed while there
// is nothing new, and is opened again, with a comment, when there is. One that is gone is
// made anew.
func TestScheduleClosed(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w, with, due := scheduledIn(t, policy.Schedule{Name: "n", Cron: "0 3 * * *", Task: "look"})
	b, says := with(w.store.Meta), "A fault."
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) { return finish(says)(ctx, work) }
	each := func(do func(r *hub.Repo, n int)) {
		must(t, w.gh.As("", repo, func(r *hub.Repo, _ *hub.User) error {
			for n, is := range r.Issues {
				if is.Title == "Schedule: n" {
					do(r, n)
				}
			}
			return nil
		}))
	}
	for n, step := range []struct {
		says     string
		state    string
		comments int
		after    func(r *hub.Repo, n int)
	}{
		{"A fault.", "open", 1, func(r *hub.Repo, n int) { r.Issues[n].State = "closed" }},
		{"A fault.", "closed", 1, nil},
		{"Nothing to report.", "closed", 1, nil},
		{"Another fault.", "open", 2, func(r *hub.Repo, n int) { delete(r.Issues, n) }},
		{"A third fault.", "open", 1, nil},
	} {
		says = step.says
		due(n)
		w.works(b)
		if state, comments, issues := w.state(); state != step.state || comments != step.comments || issues != 1 {
			t.Errorf("after %d, %q: %s, %d comments, %d issues", n, says, state, comments, issues)
		}
		if step.after != nil {
			each(step.after)
		}
	}
}
