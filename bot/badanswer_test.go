package bot_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// breaks has GitHub's answers on a route broken until it is called with "".
func (w *world) breaks(route, kind string) {
	if route == "" {
		w.gh.SetBreaks(nil)
		return
	}
	w.gh.SetBreaks(func(is string) ghcheck.Break {
		if strings.HasSuffix(is, route) {
			return ghcheck.Breaks()[kind]
		}
		return nil
	})
}

// TestStopWithoutLookup: the requester stops the own session while GitHub's answers about
// permissions, the thread or the text are none; nobody else does.
func TestStopWithoutLookup(t *testing.T) {
	t.Parallel()
	for _, route := range []string{"/permission", "/issues/{issue_number}", "/issues/comments/{comment_id}", "/repos/{owner}/{repo}"} {
		for _, kind := range []string{"empty", "null", "lacking", "cut"} {
			t.Run(kind+" "+route[strings.LastIndex(route, "/")+1:], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.gh.AddUser("max", "write")
				runs := 0
				w.run = func(ctx context.Context, _ bot.Work) (session.Outcome, error) {
					runs++
					w.breaks(route, kind)
					w.say("/agent stop")
					<-ctx.Done()
					return session.Outcome{}, context.Cause(ctx)
				}
				w.say("/agent fix it")
				err := w.work()
				if err != nil { // the queue calls again
					err = w.work()
				}
				row, rerr := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
				must(t, rerr)
				events, rerr := w.store.Logs.Log(store.Fence{Key: row.ID}).Events(t.Context(), 0)
				must(t, rerr)
				ended := slices.ContainsFunc(events, func(e session.Event) bool { return e.Type == session.TypeEnded })
				if runs != 1 || !ended {
					t.Errorf("%d runs, ended %v, the session is %s: %v", runs, ended, row.State, err)
				}
				w.breaks("", "")
				must(t, w.work())
				if row, err = w.store.Sessions.ByThread(t.Context(), w.issue.Key()); err != nil || row.State != session.PhaseStopped || w.count("kim stopped this") == 0 {
					t.Errorf("the session is %s: %v; the bot wrote %q", row.State, err, w.own())
				}
			})
		}
	}
}

// TestStopOfOthersNeedsALookup: the stop of another author waits until GitHub tells the
// rights, and counts then.
func TestStopOfOthersNeedsALookup(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	w.gh.AddUser("max", "write")
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		w.breaks("/permission", "empty")
		w.sayAs("max", "/agent stop")
		err := work.Inbox(ctx)
		if !fault.OfGitHub(err) {
			t.Errorf("the inbox says %v", err)
		}
		return session.Outcome{}, err
	}
	w.say("/agent fix it")
	if err := w.work(); !fault.OfGitHub(err) {
		t.Errorf("the work ends with %v", err)
	}
	row, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	if row.State.Over() {
		t.Errorf("the session is %s", row.State)
	}
	w.breaks("", "")
	must(t, w.work())
	if w.count("max stopped this") == 0 {
		t.Errorf("the bot wrote %q", w.own())
	}
}

// TestSignWithoutLookup: an author whose rights GitHub does not tell gets a sign, and one
// who had some is told why the request waits. It is worked on when GitHub tells them.
func TestSignWithoutLookup(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for _, known := range []bool{true, false} {
		w := newWorld(t)
		if known {
			w.say("/agent status")
			must(t, w.work())
			w.gh.AddUser("kim", "maintain") // so that the answer is not the one from before
		}
		w.breaks("/permission", "lacking")
		w.say("/agent fix it")
		signs := func() bool {
			list := w.gh.Thread(w.issue).Comments
			sign := slices.ContainsFunc(list, func(c ghtest.Comment) bool { return len(c.Reactions) > 0 })
			return sign && !known || w.count("GitHub's answer (status 200) lacks permission") == 1
		}
		for range 100 {
			if err := w.work(); !fault.OfGitHub(err) {
				t.Fatalf("the work ends with %v", err)
			}
			if signs() {
				break
			}
		}
		if !signs() {
			t.Errorf("known %v: no sign; the bot wrote %q", known, w.own())
		}
		w.breaks("", "")
		must(t, w.work())
		if w.count("✅ **done**") == 0 {
			t.Errorf("known %v: the bot wrote %q", known, w.own())
		}
	}
}

// TestGivenUpIsTold: a request that can never be carried out is not dropped in silence.
func TestGivenUpIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("/agent status")
	must(t, w.work())
	w.gh.SetFaults(ghcheck.Faults{NotFound: 1, Match: func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, fmt.Sprintf("/issues/%d", w.issue.Number))
	}})
	w.say("/agent fix it")
	must(t, w.work())
	w.gh.SetFaults(ghcheck.Faults{})
	if w.count("I could not do this:") != 1 {
		t.Errorf("the bot wrote %q", w.own())
	}
}

// TestNotice: the notice that a text waits for GitHub becomes the first comment of its request or
// its answer, also if the answer to the notice was lost or the notice deleted. Without either it says
// no longer that the text waits.
func TestNotice(t *testing.T) {
	t.Parallel()
	done, read := "✅ **done**", "The wait is over, and I have read this."
	for name, c := range map[string]struct {
		after      bool   // a request is done already
		say        string // the text that waits
		lost, gone bool   // the answer to the notice is lost; the notice is deleted
		out        bool   // its author has lost the right to write
		want       []string
	}{
		"request":         {say: "/agent fix it", want: []string{done}},
		"lost":            {say: "/agent fix it", lost: true, want: []string{done}},
		"deleted":         {say: "/agent fix it", gone: true, want: []string{done}},
		"further request": {after: true, say: "/agent fix it more", want: []string{done}},
		"further, lost":   {after: true, say: "/agent fix it more", lost: true, want: []string{done}},
		"reply":           {say: "/agent stop", want: []string{"There is nothing to stop."}},
		"reply, deleted":  {say: "/agent stop", gone: true, want: []string{"There is nothing to stop."}},
		"reply and more":  {after: true, say: "/agent skip\n/agent fix it more", want: []string{"nothing to skip", done}},
		"turned away":     {say: "/agent fix it", out: true, want: []string{read}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			longtest.Leave(t)
			w := newWorld(t)
			w.say("/agent status")
			if c.after {
				w.say("/agent fix it")
			}
			must(t, w.work())
			before := len(w.own())
			w.gh.AddUser("kim", "maintain") // so that the answer is not the one from before
			w.say(c.say)
			notice := w.awaitNotice(c.lost)
			if c.gone {
				must(t, w.gh.DeleteComment(w.issue, notice, w.gh.App().Login))
			}
			if c.out {
				w.gh.AddUser("kim", "read")
			}
			w.breaks("", "")
			must(t, w.work())
			own := w.own()[before:]
			fits := len(own) == len(c.want)
			for i := range own {
				fits = fits && strings.Contains(own[i], c.want[i])
			}
			if !fits || w.count("I ask again") > 0 {
				t.Errorf("the bot wrote %q, want %q", own, c.want)
			}
		})
	}
}

// awaitNotice breaks GitHub's answers until the bot has told that a text waits, and returns the comment.
// If lost, the answer to the notice is broken too.
func (w *world) awaitNotice(lost bool) int64 {
	w.t.Helper()
	w.gh.SetBreaks(func(is string) ghcheck.Break {
		if strings.HasSuffix(is, "/permission") || lost && strings.HasPrefix(is, "POST ") && strings.HasSuffix(is, "/comments") {
			return ghcheck.Breaks()["lacking"]
		}
		return nil
	})
	for range 100 {
		if err := w.work(); !fault.OfGitHub(err) {
			w.t.Fatalf("the work ends with %v", err)
		}
		for _, c := range w.gh.Thread(w.issue).Comments {
			if strings.Contains(c.Body, "I ask again") {
				return c.ID
			}
		}
	}
	w.t.Fatal("no notice")
	return 0
}

// late is another bot over the store, for which every text has waited long.
func (w *world) late() *bot.Bot {
	w.t.Helper()
	b, err := bot.New(bot.Config{
		Store: w.store.Store, GitHub: w.client(), Runner: w, Policy: policy.DefaultConfig(), Model: "m",
		TTL: 10 * time.Minute, Settle: 10 * time.Millisecond, Every: time.Millisecond,
		Now: func() time.Time { return time.Now().Add(time.Minute) },
	})
	must(w.t, err)
	return b
}

// TestNoNoticeBesideTheAnswer: a comment whose answer is lost is looked up, without a notice that its
// text waits.
func TestNoNoticeBesideTheAnswer(t *testing.T) {
	t.Parallel()
	for say, want := range map[string]string{"/agent fix it": "✅ **done**", "/agent stop": "There is nothing to stop."} {
		w := newWorld(t)
		w.say("/agent status")
		must(t, w.work())
		before := len(w.own())
		w.say(say)
		w.gh.SetBreaks(func(is string) ghcheck.Break {
			if is == "POST /repos/{owner}/{repo}/issues/{issue_number}/comments" {
				return ghcheck.Breaks()["lacking"]
			}
			return nil
		})
		late := w.late()
		if err := late.Work(t.Context(), w.issue.Key()); !fault.OfGitHub(err) {
			t.Fatalf("the work ends with %v", err)
		}
		w.breaks("", "")
		must(t, late.Work(t.Context(), w.issue.Key()))
		if own := w.own()[before:]; len(own) != 1 || !strings.Contains(own[0], want) {
			t.Errorf("%s: the bot wrote %q, want %q", say, own, want)
		}
	}
}
