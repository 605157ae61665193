package bot_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// official is one of GitHub's own examples of an event, with values put in place of its
// own.
func official(t *testing.T, file string, put map[string]any) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../testdata/webhook", file))
	must(t, err)
	var all map[string]any
	must(t, json.Unmarshal(data, &all))
	for path, v := range put {
		at, names := all, strings.Split(path, ".")
		for _, n := range names[:len(names)-1] {
			at = at[n].(map[string]any)
		}
		at[names[len(names)-1]] = v
	}
	data, err = json.Marshal(all)
	must(t, err)
	return data
}

// TestRenamedRepository: sessions go on under the name that their repository has now, and
// what waits for a person is answered there.
func TestRenamedRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run = finish("All is well.")
	w.say("/agent fix it")
	must(t, w.work())
	before, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	must(t, w.gh.As("", repo, func(r *hub.Repo, _ *hub.User) error {
		delete(w.gh.Repos, repo)
		r.Name = "gadget"
		w.gh.Repos["acme/gadget"] = r
		return nil
	}))
	renamed := official(t, "repository/renamed.json", map[string]any{"repository.full_name": "acme/gadget", "changes.repository.name.from": "widget"})
	lease, err := w.store.Leases.Acquire(t.Context(), before.ID, "somebody", 1e9)
	must(t, err)
	if _, _, err := w.bot.Source(t.Context(), "repository", renamed); err == nil {
		t.Error("the event is taken although a session of it is worked on")
	}
	_, err = w.store.Leases.Release(t.Context(), lease, lease.Until.Add(-2e9))
	must(t, err)
	if _, kept, err := w.bot.Source(t.Context(), "repository", renamed); err != nil || kept {
		t.Fatalf("the event is kept: %v, %v", kept, err)
	}
	w.issue.Repo = "gadget"
	w.run = finish("It is well here, too.")
	w.say("/agent and once more")
	must(t, w.work())
	after, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	if after.ID != before.ID || after.Repo != "acme/gadget" || w.count("It is well here, too.") == 0 {
		t.Errorf("session %s went on as %s of %s; the bot wrote %q", before.ID, after.ID, after.Repo, w.own())
	}
	if _, err := w.store.Sessions.ByThread(t.Context(), repo+"#1"); err == nil {
		t.Error("a session is left under the old name")
	}
}

// parks is a run that parks for an approval.
func parks(ctx context.Context, work bot.Work) (session.Outcome, error) {
	out := session.Outcome{Status: session.StatusAwaitingApproval}
	return out, work.Log.Append(ctx,
		session.NewEvent(session.TypeAsked, 1, session.Asked{ID: "3fa9c1", Kind: session.AskApproval, Call: "c1", Digest: "sha256:x", Display: "make"}),
		session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: out}))
}

// TestArchivedRepository: a session of a repository that is archived ends, with what it
// asked, and nothing is written there.
func TestArchivedRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run = parks
	w.say("/agent fix it")
	must(t, w.work())
	said := len(w.own())
	must(t, w.gh.As("", repo, func(r *hub.Repo, _ *hub.User) error { r.Archived = true; return nil }))
	archived := official(t, "repository/renamed.json", map[string]any{"action": "archived", "repository.full_name": repo})
	if _, kept, err := w.bot.Source(t.Context(), "repository", archived); err != nil || kept {
		t.Fatalf("the event is kept: %v, %v", kept, err)
	}
	must(t, w.work())
	row, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	if row.State != session.PhaseStopped || len(w.own()) != said {
		t.Errorf("the session is %q; the bot wrote %q", row.State, w.own()[said:])
	}
}

// TestTransferredIssue: the session of an issue that goes to another repository ends, with
// what it asked, and people are told where the issue is now.
func TestTransferredIssue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run = parks
	w.say("/agent fix it")
	must(t, w.work())
	_, err := w.gh.AddRepo("acme", "other", ghtest.Source{Files: map[string]string{"a": "b\n"}})
	must(t, err)
	to, err := w.gh.OpenIssue("acme/other", "kim", "A fault", "It is broken.")
	must(t, err)
	payload := official(t, "issues/21-transferred.json", map[string]any{
		"repository.full_name": repo, "issue.number": w.issue.Number, "changes.new_issue.number": to.Number, "changes.new_repository.full_name": "acme/other",
	})
	src, ok, err := w.bot.Source(t.Context(), "issues", payload)
	if err != nil || !ok || src.Thread != w.issue.Key() {
		t.Fatalf("the event goes to %q: %v, %v", src.Thread, ok, err)
	}
	src.ID, src.Event, src.Payload = "moved", "issues", payload
	_, err = w.store.Deliveries.Put(t.Context(), &src)
	must(t, err)
	must(t, w.work())
	row, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	if row.State != session.PhaseStopped {
		t.Errorf("the session is %q", row.State)
	}
	events, err := w.store.Logs.Log(store.Fence{Key: row.ID}).Events(t.Context(), 0)
	must(t, err)
	v, err := session.Fold(events)
	must(t, err)
	if len(v.Open()) > 0 || v.Request("3fa9c1").Approval.State != policy.Withdrawn || !strings.Contains(v.Outcome.Reason, "transferred to acme/other#") {
		t.Errorf("open %v, ended because %q", v.Open(), v.Outcome.Reason)
	}
	if told := w.gh.Thread(thread.Ref{Owner: "acme", Repo: "other", Number: to.Number}).Comments; len(told) != 1 || !strings.Contains(told[0].Body, "I worked on this before the transfer, as `acme/widget#1`") {
		t.Errorf("there people read %+v", told)
	}
}

// TestTakenName: a repository that took the name of another one has none of its sessions: nothing
// of them runs, and nothing of them is said there.
func TestTakenName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		out := session.Outcome{Status: session.StatusAwaitingApproval, Reason: "It waits."}
		asked := session.Asked{ID: "q1", Kind: session.AskQuestion, Display: "What is the word of the old one?"}
		return out, work.Log.Append(ctx, session.NewEvent(session.TypeAsked, 1, asked), session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: out}))
	}
	w.say("/agent fix it")
	must(t, w.work())
	before, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	must(t, w.gh.Rename(repo, "gadget"))
	_, err = w.gh.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{"a.txt": "another\n"}})
	must(t, err)
	taken, err := w.gh.OpenIssue(repo, "kim", "Another fault", "Of another repository.")
	must(t, err)
	if taken != w.issue {
		t.Fatalf("the thread is %s", taken)
	}
	b := w.with(w.store.Store) // its tokens are for the repository that has the name now
	work := func() {
		t.Helper()
		must(t, b.Work(t.Context(), w.issue.Key()))
	}
	w.run = func(context.Context, bot.Work) (session.Outcome, error) {
		t.Error("the session of another repository runs")
		return session.Outcome{}, nil
	}
	work()
	if said := w.own(); len(said) != 0 {
		t.Errorf("before any request the bot said %q", said)
	}
	w.say("/agent status")
	work()
	if said := strings.Join(w.own(), "\n"); !strings.Contains(said, "no session in this thread") || strings.Contains(said, "old one") {
		t.Errorf("the bot said %q", said)
	}
	w.run = finish("The other one is well.")
	w.say("/agent fix this one")
	work()
	after, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	if after.ID == before.ID || w.count("The other one is well.") == 0 {
		t.Errorf("session %s, before it %s; the bot said %q", after.ID, before.ID, w.own())
	}
	left, err := w.store.Sessions.Session(t.Context(), before.ID)
	must(t, err)
	if left.State != before.State {
		t.Errorf("the session of the renamed repository is %s", left.State)
	}
}
