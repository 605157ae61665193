package conversation_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/conversation"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
)

const repo = "acme/widget"

// counted counts the requests that GitHub counts: an answer that has not changed is free.
type counted struct {
	next http.RoundTripper
	n    atomic.Int64
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil && resp.StatusCode != http.StatusNotModified && !strings.Contains(r.URL.Path, "/app/") {
		c.n.Add(1)
	}
	return resp, err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// opened is a small GitHub with an issue and a pull request, for an App with rights.
func opened(t *testing.T, rights map[string]string) (*ghcheck.Server, *ghapp.App, *counted) {
	t.Helper()
	gh, err := ghcheck.New(ghtest.Config{Dir: t.TempDir(), Permissions: rights})
	must(t, err)
	must(t, gh.Start())
	rt := &http.Transport{}
	t.Cleanup(func() {
		rt.CloseIdleConnections()
		must(t, gh.Close())
		for _, v := range gh.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
	gh.AddUser("kim", "write")
	gh.AddUser("rae", "read")
	_, err = gh.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{"a.go": "package a\n", "old.go": "package a\n\n// old\n"}})
	must(t, err)
	c := &counted{next: rt}
	app, err := ghapp.New(ghapp.Config{APIURL: gh.URL() + "/api/v3/", AppID: gh.App().ID, PrivateKey: gh.App().Key, Spacing: -1, Backoff: time.Millisecond, Transport: c})
	must(t, err)
	return gh, app, c
}

// told is what is gathered of a thread for a request that is made now, and how
// many requests to GitHub that took.
func told(t *testing.T, app *ghapp.App, c *counted, ref thread.Ref) (string, int64) {
	t.Helper()
	client, err := app.For(t.Context(), ref, 0)
	must(t, err)
	from := conversation.GitHub{Client: client, Own: func(_ context.Context, c conversation.Comment) (bool, error) { return c.Author.Bot, nil }}
	from.Issue, err = client.Issue(t.Context(), ref)
	must(t, err)
	if from.Issue.IsPull {
		p, err := client.GetPull(t.Context(), ref)
		must(t, err)
		from.Pull = &p
	}
	before := c.n.Load()
	items, err := conversation.Gather(t.Context(), from, conversation.Request{
		First: conversation.PostOf(from.Issue), At: session.Place{At: time.Now().Add(time.Hour)}, Room: 40_000,
		Clean: func(_, text, _ string) string { return text }, Refused: func(err error) bool { return ghapp.KindOf(err) == ghapp.Permanent },
	})
	must(t, err)
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "%s\n%s\n", it.Name, it.Text)
	}
	return b.String(), c.n.Load() - before
}

func have(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing:\n%s", w, text)
		}
	}
}

// What GitHub has of a thread comes along, for few requests.
func TestFromGitHub(t *testing.T) {
	t.Parallel()
	gh, app, c := opened(t, nil)
	one, err := gh.OpenIssue(repo, "rae", "It breaks", "Always.")
	must(t, err)
	issue, err := gh.OpenIssue(repo, "kim", "Again", "As in #1.")
	must(t, err)
	for i := range 130 {
		_, err = gh.Comment(issue, "rae", fmt.Sprintf("Note %d.", i))
		must(t, err)
	}
	_, err = gh.Push(repo, "fix", "kim", map[string]string{"a.go": "package a\n\nvar A = 1\n", "new.go": "package a\n"})
	must(t, err)
	pull, err := gh.OpenPull(repo, "kim", ghcheck.NewPull{Title: "Fix it", Body: fmt.Sprintf("Fixes #%d", one.Number), Head: "fix", Base: "main"})
	must(t, err)
	_, err = gh.Review(pull, "rae", ghcheck.NewReview{Event: "COMMENT", Body: "Almost.", Comments: []ghcheck.Inline{{Path: "a.go", Line: 3, Body: "Why 1?"}, {Path: "a.go", Line: 1, Body: "DONE with"}}})
	must(t, err)
	must(t, gh.Resolve(pull, gh.Thread(pull).Pull.Comments[1].ID, "kim"))
	_, err = gh.RunCheck(repo, gh.Branch(repo, "fix"), ghcheck.Result{Name: "build", Conclusion: "failure"})
	must(t, err)

	got, n := told(t, app, c, issue)
	have(t, got, "Title and description of issue #2 by @kim", "Linked issue #1 (open) by @rae", "Always.", "Note 129.", "70 older comments are left out here", "Note 70.")
	if strings.Contains(got, "Note 69.") || n > 3 {
		t.Errorf("an issue took %d requests:\n%s", n, got)
	}
	got, n = told(t, app, c, pull)
	have(t, got, "Title and description of pull request #3 by @kim", "Linked issue #1", "2 files, +3 −0", "modified a.go +2 −0", "added new.go +1 −0", "+var A = 1",
		"- build: failure", "Review (commented) by @rae", "Almost.", "Review thread on a.go:L3, not resolved\nThe code:\n    @@", "    Why 1?")
	if strings.Contains(got, "DONE with") || n > 8 {
		t.Errorf("a pull request took %d requests:\n%s", n, got)
	}
}

// What an App may not read is named, and the rest comes.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	gh, app, c := opened(t, map[string]string{"metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write", "checks": "write"})
	_, err := gh.Push(repo, "fix", "kim", map[string]string{"a.go": "package a\n\nvar A = 1\n"})
	must(t, err)
	pull, err := gh.OpenPull(repo, "kim", ghcheck.NewPull{Title: "Fix it", Head: "fix", Base: "main"})
	must(t, err)
	got, _ := told(t, app, c, pull)
	have(t, got, "commit statuses could not be read: GitHub refused it, so a permission may be missing", "+var A = 1")

	gh, app, c = opened(t, map[string]string{"metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write"})
	_, err = gh.Push(repo, "fix", "kim", map[string]string{"a.go": "package a\n\nvar A = 1\n"})
	must(t, err)
	pull, err = gh.OpenPull(repo, "kim", ghcheck.NewPull{Title: "Fix it", Head: "fix", Base: "main"})
	must(t, err)
	got, _ = told(t, app, c, pull)
	have(t, got, "the checks of this pull request could not be read: GitHub refused it, so a permission may be missing", "+var A = 1")
}
