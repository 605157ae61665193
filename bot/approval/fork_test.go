package approval

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const forkRepo = "acme/widget"

// forkStage is a pull request from rae's fork, and a session on it.
type forkStage struct {
	*testing.T
	gh *ghcheck.Server
	at thread.Ref
	s  Fork
	v  *session.State
	n  int64
}

func newForkStage(t *testing.T, mode string) *forkStage {
	t.Helper()
	st := &forkStage{T: t, v: session.NewState()}
	var err error
	st.gh, err = ghcheck.New(ghtest.Config{Dir: t.TempDir()})
	st.check(err)
	st.check(st.gh.Start())
	t.Cleanup(func() { st.check(st.gh.Close()) })
	st.gh.AddUser("kim", "write")
	st.gh.AddUser("sam", "write")
	st.gh.AddUser("rae", "read")
	inst, err := st.gh.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{"README.md": "x\n"}})
	st.check(err)
	st.check(st.gh.Fork(forkRepo, "rae"))
	st.push("a")
	st.at, err = st.gh.OpenPull(forkRepo, "rae", ghcheck.NewPull{Title: "t", Head: "rae:main", Base: "main"})
	st.check(err)
	app, err := ghapp.New(ghapp.Config{APIURL: st.gh.URL() + "/api/v3/", AppID: st.gh.App().ID, PrivateKey: st.gh.App().Key, Spacing: -1, Backoff: time.Microsecond})
	st.check(err)
	client, err := app.For(t.Context(), st.at, inst)
	st.check(err)
	st.s = Fork{
		Session: Session{ID: "s1", Thread: st.at, IsPull: true, Client: client, Now: time.Now, Log: slog.New(slog.DiscardHandler)},
		Names: func(_ context.Context, text, commit string) (bool, error) {
			word, ok := strings.CutPrefix(text, "/agent ok ")
			return ok && strings.HasPrefix(commit, word), nil
		},
	}
	st.apply(session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1", Mode: mode, Base: strings.Repeat("0", 40), Branch: "agent/1"}}))
	return st
}

func (st *forkStage) check(err error) {
	st.Helper()
	if err != nil {
		st.Fatal(err)
	}
}

// push adds a file to the fork and returns its new commit.
func (st *forkStage) push(name string) string {
	sha, err := st.gh.Push("rae/widget", "main", "rae", map[string]string{name: name + "\n"})
	st.check(err)
	return sha
}

func (st *forkStage) apply(events ...*session.Event) {
	for _, e := range events {
		st.n++
		e.Seq = st.n
		st.check(st.v.Apply(*e))
	}
}

// look has the session looked at until nothing is to be recorded, and returns whether
// it may be worked on.
func (st *forkStage) look() bool {
	for range 5 {
		events, err := st.s.Look(st.Context(), st.v)
		st.check(err)
		if len(events) == 0 {
			return st.v.Outcome == nil
		}
		st.apply(events...)
	}
	st.Fatal("there is always something to be recorded")
	return false
}

// say has somebody write an ok, and returns where it stands.
func (st *forkStage) say(who, text string) (yes session.Resolved, comment int64) {
	made, err := st.gh.Comment(st.at, who, text)
	st.check(err)
	id := made.ID
	got, err := st.s.Client.GetComment(st.Context(), ghapp.Target{Comment: id})
	st.check(err)
	ev := ghapp.Event{Comment: ghapp.EventComment{ID: id, Body: got.Body, Created: got.Created, Updated: got.Updated}}
	return session.Resolved{By: who, ByID: st.gh.UserID(who), Key: Source(ev, ghapp.Target{Comment: id})}, id
}

// ok has kim write an ok that counts.
func (st *forkStage) ok(sha string) int64 {
	st.Helper()
	yes, id := st.say("kim", "/agent ok "+sha[:10])
	res, told, err := st.s.Answer(st.Context(), st.v, sha[:10], yes)
	st.check(err)
	if res == nil {
		st.Fatalf("the ok does not count: %s", told)
	}
	st.apply(session.NewEvent(session.TypeResolved, 0, *res))
	return id
}

// TestForkWaits: what may change something waits for an ok, what reads does not, and a mode
// that nobody knows waits.
func TestForkWaits(t *testing.T) {
	longtest.Leave(t)
	for mode, waits := range map[string]bool{"ask": false, "review": false, "plan": false, "explore": false, "security": false,
		"code": true, "debug": true, "architect": true, "": true, "other": true} {
		st := newForkStage(t, mode)
		if free := st.look(); free == waits || (WaitingCommit(st.v) != nil) != waits {
			t.Errorf("mode %q: it may be worked on: %v, it asks: %v", mode, free, WaitingCommit(st.v) != nil)
		}
	}
}

// TestForkPlan: a plan is made at once; one that was approved waits for an ok, and so does
// a request that changes something after one that reads. Each is used once.
func TestForkPlan(t *testing.T) {
	longtest.Leave(t)
	st := newForkStage(t, "plan")
	st.apply(session.NewEvent(session.TypeAnswer, 1, session.Answer{}),
		session.NewEvent(session.TypeAsked, 1, session.Asked{ID: "p1", Kind: session.AskPlan, Digest: "d"}),
		session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: session.StatusPlanned}}))
	if st.look(); WaitingCommit(st.v) != nil {
		t.Error("a plan asks for a commit")
	}
	st.apply(session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "p1", Verdict: policy.Approved}))
	if st.look() || WaitingCommit(st.v) == nil {
		t.Error("an approved plan does not wait for an ok")
	}
	head := st.push("b")
	st.look()
	st.ok(head)
	if !st.look() || st.v.Task.Base != head || st.v.Published != head {
		t.Errorf("after the ok it may not be worked on, or from %s, not %s", st.v.Published, head)
	}

	st = newForkStage(t, "review")
	st.apply(session.NewEvent(session.TypeAnswer, 3, session.Answer{}),
		session.NewEvent(session.TypeEnded, 3, session.Ended{Outcome: session.Outcome{Status: session.StatusAnswered}}),
		session.NewEvent(session.TypeMessage, 3, session.Message{Text: "fix it", Mode: "code"}))
	if st.look() || WaitingCommit(st.v) == nil {
		t.Error("a change after a review does not wait for an ok")
	}
}

// TestForkStartsFromTheCommit: the work starts from the commit that was let in.
func TestForkStartsFromTheCommit(t *testing.T) {
	longtest.Leave(t)
	st := newForkStage(t, "code")
	st.look()
	head := st.push("b")
	if st.look() {
		t.Fatal("it is worked on without an ok")
	}
	st.ok(head)
	if !st.look() || st.v.Task.Base != head || st.v.Saved != head || st.v.Published != head {
		t.Errorf("it starts from %s, saved %s, published %s; the commit is %s", st.v.Task.Base, st.v.Saved, st.v.Published, head)
	}
	st.apply(session.NewEvent(session.TypeAnswer, 1, session.Answer{Content: "x"}))
	st.push("c")
	if !st.look() || st.v.Task.Base != head {
		t.Error("what the fork does later has to do with the work")
	}
}

// TestForkAnswer: a word counts for the commit that was asked for and that the fork is at,
// and for no other.
func TestForkAnswer(t *testing.T) {
	longtest.Leave(t)
	st := newForkStage(t, "code")
	st.look()
	first := WaitingCommit(st.v).Head
	second := st.push("b")
	answer := func(commit string) (*session.Resolved, string) {
		res, told, err := st.s.Answer(t.Context(), st.v, commit, session.Resolved{By: "kim", ByID: st.gh.UserID("kim"), Key: "k"})
		st.check(err)
		return res, told
	}
	for _, c := range []struct{ name, commit, want string }{
		{"one that the fork left behind", first, render.ForkMoved(first, second)},
		{"one that nobody asked about yet", second, render.ForkMoved(second, second)},
		{"another", "0123abc", render.ForkOther("0123abc", second)},
	} {
		if res, told := answer(c.commit); res != nil || told != c.want {
			t.Errorf("%s: %v, %q", c.name, res, told)
		}
	}
	st.look()
	if res, told := answer(first); res != nil || told != render.ForkMoved(first, second) {
		t.Errorf("one that was asked about before: %v, %q", res, told)
	}
	for _, commit := range []string{second, second[:7], strings.ToUpper(second[:12])} {
		if res, told := answer(commit); res == nil || res.ID != WaitingCommit(st.v).ID || res.Verdict != policy.Approved {
			t.Errorf("%s: %v, %q", commit, res, told)
		}
	}
	// Somebody made a commit that begins as one does that people have looked at.
	next := "0"
	if second[12] == '0' {
		next = "1"
	}
	twin := second[:12] + strings.Repeat(next, 28)
	st.apply(session.NewEvent(session.TypeAsked, 0, session.Asked{ID: "fork-8", Kind: session.AskCommit, Call: "fork-8", Head: twin}),
		session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: "fork-8", Verdict: policy.Stale}),
		session.NewEvent(session.TypeAsked, 0, session.Asked{ID: "fork-9", Kind: session.AskCommit, Call: "fork-9", Head: second}))
	if res, told := answer(second[:12]); res != nil || told != render.ForkAmbiguous(second[:12], second) {
		t.Errorf("of two that begin like this: %v, %q", res, told)
	}
	if res, _ := answer(second[:13]); res == nil {
		t.Error("what only one begins with does not count")
	}
}

// TestForkLookedAtAgain: before the work begins the fork, the comment and the right of who
// wrote it must still be as they were.
func TestForkLookedAtAgain(t *testing.T) {
	longtest.Leave(t)
	for _, c := range []struct {
		name string
		do   func(*forkStage, int64)
		why  string
	}{
		{"nothing happens", func(*forkStage, int64) {}, ""},
		{"the fork moves", func(st *forkStage, _ int64) { st.push("b") }, render.WhyForkMoved},
		{"the comment is edited", func(st *forkStage, id int64) { st.check(st.gh.EditComment(st.at, id, "kim", "no")) }, render.WhyCommentEdited},
		{"the comment is deleted", func(st *forkStage, id int64) { st.check(st.gh.DeleteComment(st.at, id, "kim")) }, render.WhyCommentDeleted},
		{"the right is taken", func(st *forkStage, _ int64) { st.check(st.gh.Grant(forkRepo, "kim", "read")) }, "needs write permission"},
		{"the log names other words", func(st *forkStage, _ int64) {
			yes, _ := st.say("kim", "/agent ok 0123abc")
			answered(st.v).Key = yes.Key
		}, render.WhyOtherWords},
		{"the log names another author", func(st *forkStage, _ int64) {
			yes, _ := st.say("rae", "/agent ok "+answered(st.v).ID)
			answered(st.v).Key = yes.Key
		}, render.WhyAnotherAuthor},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newForkStage(t, "code")
			st.look()
			c.do(st, st.ok(WaitingCommit(st.v).Head))
			free, open := st.look(), WaitingCommit(st.v)
			if free != (c.why == "") || (open == nil) != (c.why == "") {
				t.Fatalf("it may be worked on: %v; it asks: %v", free, open)
			}
			if open != nil && !strings.Contains(strings.Join(open.Reasons, " "), c.why) {
				t.Errorf("it is asked again because %q", open.Reasons)
			}
		})
	}
}

// answered is the answer to the newest request.
func answered(v *session.State) *session.Resolved { return NewestCommit(v).Answer }

// TestRestlessFork: a fork that moves on and on is not asked about for ever, until a
// person writes again.
func TestRestlessFork(t *testing.T) {
	longtest.Leave(t)
	st := newForkStage(t, "code")
	asked := func() (n int) {
		for i := range maxForkRequests + 3 {
			st.push(strings.Repeat("f", i+1))
			st.look()
		}
		for _, r := range st.v.Requests {
			if r.Kind == session.AskCommit {
				n++
			}
		}
		return n
	}
	if n := asked(); n != maxForkRequests || !st.v.Over() {
		t.Errorf("it asked %d times, and is over: %v", n, st.v.Over())
	}
	st.apply(session.NewEvent(session.TypeMessage, 0, session.Message{Author: "kim", Text: "again"}))
	if st.look(); WaitingCommit(st.v) == nil {
		t.Error("a person wrote, and it is not asked")
	}
}

// TestForkTellsWhoMay: who asked is told of a commit that waits where they may say the
// word; where they may not, the owners of everything are who may.
func TestForkTellsWhoMay(t *testing.T) {
	longtest.Leave(t)
	st := newForkStage(t, "code")
	st.gh.AddUser("lee", "write")
	_, err := st.gh.Push(forkRepo, "main", "kim", map[string]string{"CODEOWNERS": "* @rae @lee @acme/core @other/core @nobody-of-the-name mail@example.org\ndocs/ @kim\n"})
	st.check(err)
	st.s.Target = "main"
	for requester, want := range map[string]string{"kim": "kim", "KIM": "kim", "rae": "lee acme/core", "": "lee acme/core", "handrail[bot]": "lee acme/core"} {
		st.v.Task.Requester = requester
		got, err := st.s.whom(t.Context(), st.v)
		st.check(err)
		if strings.Join(got, " ") != want {
			t.Errorf("%q asked: %q are told, want %q", requester, got, want)
		}
	}
}

// TestOwnBranch: a branch of a fork is none of ours, whatever its name.
func TestOwnBranch(t *testing.T) {
	if got := OwnBranch(&ghapp.Pull{Head: "agent/1", Fork: true}) + OwnBranch(nil) + OwnBranch(&ghapp.Pull{Head: "a"}); got != "a" {
		t.Errorf("own branches: %q", got)
	}
}
