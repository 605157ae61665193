package bot_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const repo = "acme/widget"

// commits returns two commits that are on GitHub.
func (w *world) commits() (one, two string) {
	w.t.Helper()
	for _, to := range []*string{&one, &two} {
		sha, err := w.gh.Push(repo, "main", "kim", map[string]string{"a.txt": one + "next\n"})
		must(w.t, err)
		*to = sha
	}
	return one, two
}

// changes is a run that saves a state, and then ends or fails.
func changes(commit string, then func(context.Context, bot.Work) (session.Outcome, error)) func(context.Context, bot.Work) (session.Outcome, error) {
	return func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		saved := session.Checkpoint{Commit: commit, Files: []session.FileChange{{Path: "a.txt", Added: 2, Removed: 1}}}
		if err := work.Log.Append(ctx, session.NewEvent(session.TypeCheckpoint, 1, saved)); err != nil {
			return session.Outcome{}, err
		}
		return then(ctx, work)
	}
}

// checks are the bot's check runs by commit, as "status conclusion title".
func (w *world) checks() map[string][]string {
	out := map[string][]string{}
	for _, c := range w.gh.Checks(repo) {
		if c.Name == "Handrail" {
			out[c.SHA] = append(out[c.SHA], strings.Join(strings.Fields(c.Status+" "+c.Conclusion+" "+c.Title), " "))
		}
	}
	return out
}

// TestCheckRun: the head of the session's branch shows how it stands, and no
// commit is left at "in progress".
func TestCheckRun(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	one, two := w.commits()
	w.run = changes(one, finish("It is done."))
	w.say("/agent fix it")
	must(t, w.work())
	if got := w.checks()[one]; !slices.Equal(got, []string{"completed success done · 1 file, +2 −1"}) {
		t.Fatalf("after the first run: %q", w.checks())
	}
	must(t, w.work()) // nothing happened
	if got := w.gh.Checks(repo); len(got) != 1 {
		t.Fatalf("a second look made more: %+v", got)
	}
	var during []string
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		during = slices.Clone(w.checks()[one])
		return changes(two, finish("More is done."))(ctx, work)
	}
	w.say("/agent also do that")
	must(t, w.work())
	if len(during) != 2 || during[1] != "in_progress running" {
		t.Errorf("during the second run: %q", during)
	}
	got := w.checks()
	if len(got[one]) != 2 || got[one][1] != "completed neutral moved on" || !slices.Equal(got[two], []string{"completed success done · 1 file, +4 −2"}) {
		t.Errorf("after the second run: %q", got)
	}
}

// TestCheckRunAfterACrash: what was left at "in progress" is completed by
// whoever goes on.
func TestCheckRunAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.commits()
	w.run = changes(one, finish("It is done."))
	w.say("/agent fix it")
	must(t, w.work())
	w.run = changes(two, func(context.Context, bot.Work) (session.Outcome, error) {
		return session.Outcome{}, errors.New("the machine stops")
	})
	w.say("/agent also do that")
	if err := w.work(); err == nil {
		t.Fatal("the run did not fail")
	}
	if got := w.checks()[one]; len(got) != 2 || got[1] != "in_progress running" {
		t.Fatalf("after the crash: %q", w.checks())
	}
	w.run = finish("More is done.")
	must(t, w.work())
	for sha, list := range w.checks() {
		for _, c := range list {
			if !strings.HasPrefix(c, "completed ") {
				t.Errorf("%s is left at %q", sha, c)
			}
		}
	}
	if got := w.checks()[two]; len(got) != 1 || !strings.HasPrefix(got[0], "completed success") {
		t.Errorf("the head says %q", got)
	}
}

// noChecks is GitHub for an App without the permission for checks.
type noChecks struct{ asked int }

func (n *noChecks) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "/check-runs") {
		return http.DefaultTransport.RoundTrip(r)
	}
	n.asked++
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json")
	rec.WriteHeader(http.StatusForbidden)
	if _, err := rec.WriteString(`{"message":"Resource not accessible by integration"}`); err != nil {
		return nil, err
	}
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// TestNoCheckPermission: an App that may not write checks works all the same.
func TestNoCheckPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, _ := w.commits()
	app, refuse := w.gh.App(), &noChecks{}
	client, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL(), AppID: app.ID, PrivateKey: app.Key, Spacing: -1, Transport: refuse})
	must(t, err)
	w.bot, err = bot.New(bot.Config{Store: w.store.Store, GitHub: client, Runner: w, Policy: policy.DefaultConfig(), Model: "m"})
	must(t, err)
	w.run = changes(one, finish("It is done."))
	w.say("/agent fix it")
	must(t, w.work())
	if refuse.asked == 0 || w.count("✅ **done**") == 0 {
		t.Errorf("asked %d times, the bot wrote %q", refuse.asked, w.own())
	}
}
