package ghapp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// writes returns one write of every kind, each of which can succeed in w.
func (w *world) writes(t *testing.T) []ghapp.Write {
	t.Helper()
	ctx := context.Background()
	own, err := w.client.Perform(ctx, ghapp.Write{Key: "setup/own", Kind: ghapp.WriteComment, Thread: w.issue, Body: "first"})
	must(t, err)
	must(t, w.gh.Label(w.issue, "kim", "a/../b?c%2f é"))
	theirs, err := w.gh.Comment(w.issue, "kim", "/agent fix this")
	must(t, err)
	_, err = w.gh.Review(w.pull, "max", ghcheck.NewReview{Event: "COMMENT", Body: "", Comments: []ghcheck.Inline{{Path: "src/a.go", Line: 3, Body: "why 2?"}}})
	must(t, err)
	onDiff := w.gh.Thread(w.pull).Pull.Comments[0].ID
	_, err = w.gh.Push(repo, "agent/1", "kim", map[string]string{"new.txt": "x\n"})
	must(t, err)
	sha := w.gh.Branch(repo, "fix")
	w.gh.AddTeam("acme", "core", "max")
	_, err = w.gh.Push(repo, "small", "kim", map[string]string{"small.txt": "x\n"})
	must(t, err)
	_, err = w.gh.Push(repo, "spent", "kim", map[string]string{"spent.txt": "x\n"})
	must(t, err)
	small, err := w.gh.OpenPull(repo, "kim", ghcheck.NewPull{Title: "Small", Head: "small", Base: "main"})
	must(t, err)
	_, err = w.gh.Push(repo, "waits", "kim", map[string]string{"waits.txt": "x\n"})
	must(t, err)
	waits, err := w.gh.OpenPull(repo, "kim", ghcheck.NewPull{Title: "Waits", Head: "waits", Base: "main", Draft: true})
	must(t, err)
	made, err := w.client.Perform(ctx, ghapp.Write{Key: "setup/check", Kind: ghapp.WriteCheck, Thread: w.pull,
		Check: &ghapp.CheckSpec{Name: "Handrail", SHA: sha, Status: "queued"}})
	must(t, err)
	return []ghapp.Write{
		{Kind: ghapp.WriteComment, Thread: w.issue, Body: "Working on it."},
		{Kind: ghapp.WriteEditComment, Thread: w.issue, Target: ghapp.Target{Comment: own.ID}, Body: "Done."},
		{Kind: ghapp.WriteReply, Thread: w.pull, Target: ghapp.Target{Comment: onDiff, Diff: true}, Body: "Because."},
		{Kind: ghapp.WriteReaction, Thread: w.issue, Target: ghapp.Target{Comment: theirs.ID}, Body: "eyes"},
		{Kind: ghapp.WriteReaction, Thread: w.issue, Body: "rocket"},
		{Kind: ghapp.WriteReaction, Thread: w.pull, Target: ghapp.Target{Comment: onDiff, Diff: true}, Body: "+1"},
		{Kind: ghapp.WriteIssue, Thread: thread.Ref{Owner: "acme", Repo: "widget"}, Title: "Weekly review", Body: "All is well.", Labels: []string{"handrail"}},
		{Kind: ghapp.WriteLabels, Thread: w.issue, Labels: []string{"agent", "bug"}},
		{Kind: ghapp.WritePull, Thread: w.issue, Pull: &ghapp.PullSpec{Base: "main", Head: "agent/1", Title: "Fix", Body: "Fixes #1", Draft: true}},
		{Kind: ghapp.WriteEditPull, Thread: w.pull, Pull: &ghapp.PullSpec{Title: "Fix it well", Body: "new body"}},
		{Kind: ghapp.WriteReviewers, Thread: w.pull, Reviewers: []string{"max"}},
		{Kind: ghapp.WriteReview, Thread: w.pull, Review: &ghapp.ReviewSpec{Commit: sha, Body: "One finding.",
			Comments: []ghapp.Inline{{Path: "src/a.go", Line: 3, Body: "```suggestion\nfunc A() int { return 3 }\n```"}}}},
		{Kind: ghapp.WriteCheck, Thread: w.pull, Check: &ghapp.CheckSpec{Name: "Handrail", SHA: sha, Status: "in_progress", Title: "Running", Summary: "turn 1"}},
		{Kind: ghapp.WriteEditCheck, Thread: w.pull, Check: &ghapp.CheckSpec{ID: made.ID, Name: "Handrail", SHA: sha, Status: "completed", Conclusion: "success", Title: "Done", Summary: "ok"}},
		{Kind: ghapp.WriteClosePull, Thread: small},
		{Kind: ghapp.WriteBranchGone, Thread: small, Branch: "spent", Commit: w.gh.Branch(repo, "spent")},
		{Kind: ghapp.WriteReviewers, Thread: w.pull, Teams: []string{"core"}},
		{Kind: ghapp.WriteEditIssue, Thread: w.issue, Body: "All is well still."},
		{Kind: ghapp.WriteLabels, Thread: w.issue, Labels: []string{"ready"}, Off: []string{"Bug", "a/../b?c%2f é"}},
		{Kind: ghapp.WriteReady, Thread: waits, Commit: w.gh.Branch(repo, "waits")},
	}
}

// TestEveryWrite: not there, done, found, and what a person sees.
func TestEveryWrite(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	w := newWorld(t)
	for i, wr := range w.writes(t) {
		wr.Key, wr.Since = fmt.Sprintf("s-1/%d", i), time.Now()
		name := fmt.Sprintf("%d %s", i, wr.Kind)
		if _, ok, err := w.client.Find(ctx, wr); err != nil || ok {
			t.Fatalf("%s: Find before = %v, %v", name, ok, err)
		}
		made, err := w.client.Perform(ctx, wr)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found, ok, err := w.client.Find(ctx, wr)
		if err != nil || !ok {
			t.Fatalf("%s: Find after = %v, %v", name, ok, err)
		}
		if wr.Kind != ghapp.WriteEditPull && found != made {
			t.Errorf("%s: made %+v, found %+v", name, made, found)
		}
		wr.Key += "-other"
		if wr.Kind == ghapp.WriteComment || wr.Kind == ghapp.WriteIssue || wr.Kind == ghapp.WriteReply || wr.Kind == ghapp.WriteReview || wr.Kind == ghapp.WriteCheck {
			if _, ok, err := w.client.Find(ctx, wr); err != nil || ok {
				t.Errorf("%s: another key was found: %v", name, err)
			}
		}
	}
	th, p := w.gh.Thread(w.issue), w.gh.Thread(w.pull)
	if got := th.Comments[0].Body; got != "Done.\n\n<!-- handrail:s-1/1 -->" {
		t.Errorf("edited comment = %q", got)
	}
	if got := th.Comments[len(th.Comments)-1]; got.Author != "handrail[bot]" || !strings.HasPrefix(got.Body, "Working on it.\n") {
		t.Errorf("comment = %+v", got)
	}
	if !cmp.Equal(th.Labels, []string{"agent", "ready"}) || !cmp.Equal(th.Reactions, []ghtest.Reaction{{Author: "handrail[bot]", Content: "rocket"}}) {
		t.Errorf("thread = %+v", th)
	}
	if p.Title != "Fix it well" || !cmp.Equal(p.Pull.Reviewers, []string{"max"}) {
		t.Errorf("pull = %+v", p)
	}
	last := p.Pull.Reviews[len(p.Pull.Reviews)-1]
	if last.State != "COMMENTED" || last.Author != "handrail[bot]" {
		t.Errorf("review = %+v, want a comment", last)
	}
	pulls := w.gh.Threads(repo)
	opened := pulls[len(pulls)-1]
	if small := pulls[2]; small.State != "closed" || small.Pull.Merged || small.Pull.HeadRef != "small" {
		t.Errorf("closed = %+v", small)
	}
	if waits := pulls[3]; waits.State != "open" || waits.Pull.Draft || waits.Pull.HeadRef != "waits" {
		t.Errorf("ready = %+v", waits)
	}
	if !cmp.Equal(p.Pull.Teams, []string{"acme/core"}) {
		t.Errorf("teams %v were asked", p.Pull.Teams)
	}
	if at := w.gh.Branch(repo, "spent"); at != "" {
		t.Errorf("the branch is at %q", at)
	}
	if opened.Pull == nil || !opened.Pull.Draft || opened.Pull.HeadRef != "agent/1" || opened.Author != "handrail[bot]" {
		t.Errorf("opened = %+v", opened)
	}
}

// TestIdempotentWrites: what is said to be idempotent changes nothing twice.
func TestIdempotentWrites(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	w := newWorld(t)
	list := w.writes(t)
	for _, i := range []int{1, 3, 4, 5, 7, 9, 10, 13, 14, 15, 16, 18, 19} {
		wr := list[i]
		wr.Key = fmt.Sprintf("k%d", i)
		for range 3 {
			if _, err := w.client.Perform(ctx, wr); err != nil {
				t.Fatalf("%s: %v", wr.Kind, err)
			}
		}
	}
	th := w.gh.Thread(w.issue)
	if len(th.Comments) != 2 || len(th.Comments[1].Reactions) != 1 || len(th.Reactions) != 1 || len(th.Labels) != 2 {
		t.Errorf("thread = %+v", th)
	}
}

// TestForgedMarker: a person who copies a marker does not make the bot
// believe that it has written.
func TestForgedMarker(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	wr := ghapp.Write{Key: "s/1", Kind: ghapp.WriteComment, Thread: w.issue, Body: "hello"}
	_, err := w.gh.Comment(w.issue, "rae", "hello\n\n<!-- handrail:s/1 -->")
	must(t, err)
	if _, ok, err := w.client.Find(ctx, wr); ok || err != nil {
		t.Errorf("a stranger's marker was believed: %v", err)
	}
	// The bot quotes somebody who quotes a marker: not at the end, not counted.
	_, err = w.client.Perform(ctx, ghapp.Write{Key: "s/2", Kind: ghapp.WriteComment, Thread: w.issue, Body: "> <!-- handrail:s/1 -->"})
	must(t, err)
	if _, ok, err := w.client.Find(ctx, wr); ok || err != nil {
		t.Errorf("a quoted marker was believed: %v", err)
	}
}

func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	w := newWorld(t)
	theirs, err := w.gh.Comment(w.issue, "kim", "mine")
	must(t, err)
	_, err = w.gh.Push(repo, "same", "kim", nil)
	must(t, err)
	sha := w.gh.Branch(repo, "same")
	_, err = w.gh.Push(repo, "draft", "kim", map[string]string{"draft.txt": "x\n"})
	must(t, err)
	draft, err := w.gh.OpenPull(repo, "kim", ghcheck.NewPull{Title: "Draft", Head: "draft", Base: "main", Draft: true})
	must(t, err)
	spec := func(base, head string) *ghapp.PullSpec {
		return &ghapp.PullSpec{Base: base, Head: head, Title: "t", Body: "b"}
	}
	tests := []struct {
		name string
		w    ghapp.Write
		is   error  // nil for a refusal before anything is sent
		text string // part of the message
	}{
		{"no such thread", ghapp.Write{Kind: ghapp.WriteComment, Thread: thread.Ref{Owner: "acme", Repo: "widget", Number: 99}, Body: "x"}, ghapp.ErrNotFound, ""},
		{"another's comment", ghapp.Write{Kind: ghapp.WriteEditComment, Thread: w.issue, Target: ghapp.Target{Comment: theirs.ID}, Body: "x"}, ghapp.ErrForbidden, ""},
		{"no such reaction", ghapp.Write{Kind: ghapp.WriteReaction, Thread: w.issue, Body: "party"}, ghapp.ErrInvalid, ""},
		{"pull request exists", ghapp.Write{Kind: ghapp.WritePull, Thread: w.issue, Pull: spec("main", "fix")}, ghapp.ErrInvalid, "already exists"},
		{"head missing", ghapp.Write{Kind: ghapp.WritePull, Thread: w.issue, Pull: spec("main", "nope")}, ghapp.ErrInvalid, "head"},
		{"base missing", ghapp.Write{Kind: ghapp.WritePull, Thread: w.issue, Pull: spec("nope", "fix")}, ghapp.ErrInvalid, "base"},
		{"no commits", ghapp.Write{Kind: ghapp.WritePull, Thread: w.issue, Pull: spec("same", "same")}, ghapp.ErrInvalid, "No commits"},
		{"line not in diff", ghapp.Write{Kind: ghapp.WriteReview, Thread: w.pull, Review: &ghapp.ReviewSpec{Body: "b",
			Comments: []ghapp.Inline{{Path: "src/a.go", Line: 99, Body: "x"}}}}, ghapp.ErrInvalid, "Line could not be resolved"},
		{"reviewer a stranger", ghapp.Write{Kind: ghapp.WriteReviewers, Thread: w.pull, Reviewers: []string{"rae"}}, ghapp.ErrInvalid, "collaborator"},
		{"check on no commit", ghapp.Write{Kind: ghapp.WriteCheck, Thread: w.pull, Check: &ghapp.CheckSpec{Name: "x", SHA: strings.Repeat("0", 40)}}, ghapp.ErrInvalid, "No commit"},
		{"ready at another head", ghapp.Write{Kind: ghapp.WriteReady, Thread: draft, Commit: sha}, nil, "its head is"},
		{"ready without a head", ghapp.Write{Kind: ghapp.WriteReady, Thread: draft}, nil, "Commit is not set"},
		{"field missing", ghapp.Write{Kind: ghapp.WritePull, Thread: w.issue}, nil, "Pull is not set"},
		{"no kind", ghapp.Write{Thread: w.issue}, nil, "no such kind"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.w.Key = "k"
			_, err := w.client.Perform(ctx, tt.w)
			if err == nil || ghapp.KindOf(err) != ghapp.Permanent || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("err = %v (%v)", err, ghapp.KindOf(err))
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("err = %v, want %v", err, tt.is)
			}
		})
	}
	for _, key := range []string{"", "a b", "a-->b", "a--b", "x>", "-a", "a-", strings.Repeat("a", 201), "a\nb"} {
		_, err := w.client.Perform(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
		if err == nil {
			t.Errorf("key %q was taken", key)
		}
	}
	// The longest body that fits is taken, whatever its alphabet.
	body := strings.Repeat("é", ghapp.MaxBody-ghapp.MarkerRoom)
	if _, err := w.client.Perform(ctx, ghapp.Write{Key: strings.Repeat("k", 200), Kind: ghapp.WriteComment, Thread: w.issue, Body: body}); err != nil {
		t.Errorf("a body of MaxBody-MarkerRoom was refused: %v", err)
	}
}

// TestNoPermission: an app that may not write is told so, permanently.
func TestNoPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(gc *ghtest.Config, _ *ghapp.Config) {
		gc.Permissions = map[string]string{"metadata": "read", "issues": "read", "pull_requests": "read", "contents": "read"}
	})
	_, err := w.client.Perform(context.Background(), ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
	if !errors.Is(err, ghapp.ErrForbidden) || ghapp.KindOf(err) != ghapp.Permanent || !strings.Contains(err.Error(), "it needs issues: write, pull_requests: write in its settings") {
		t.Errorf("err = %v", err)
	}
}

// TestTokenMode is the bot with a token for one repository, as in a workflow.
func TestTokenMode(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	w.gh.AddUser("github-actions[bot]", "write")
	tok, err := w.gh.Token("github-actions[bot]")
	must(t, err)
	app, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL(), Token: tok, Login: "github-actions[bot]", Spacing: -1})
	must(t, err)
	c, err := app.For(ctx, w.issue, 0)
	must(t, err)
	wr := ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "from a workflow"}
	_, err = c.Perform(ctx, wr)
	must(t, err)
	if _, ok, err := c.Find(ctx, wr); !ok || err != nil {
		t.Errorf("Find = %v, %v", ok, err)
	}
	if _, err := app.Deliveries(ctx, time.Time{}); err == nil {
		t.Error("a token listed deliveries")
	}
	if _, got, err := c.GitAuth(ctx, w.gh.URL()+"/acme/widget", ghapp.GitPush); err != nil || got != tok {
		t.Errorf("GitAuth = %v", err)
	}
}

// A branch that somebody else pushed to is not deleted: it holds their work.
func TestBranchThatMovedStays(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	old := w.gh.Branch(repo, "fix")
	_, err := w.gh.Push(repo, "fix", "kim", map[string]string{"more.txt": "x\n"})
	must(t, err)
	wr := ghapp.Write{Key: "gone", Kind: ghapp.WriteBranchGone, Thread: w.pull, Branch: "fix", Commit: old}
	_, err = w.client.Perform(context.Background(), wr)
	if ghapp.KindOf(err) != ghapp.Permanent || err == nil || w.gh.Branch(repo, "fix") == "" {
		t.Errorf("deleting it: %v", err)
	}
	if _, ok, err := w.client.Find(context.Background(), wr); ok || err != nil {
		t.Errorf("it is said to be gone: %v", err)
	}
}
