package ghapp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
)

// Every text of every kind of write passes the gate, and what passed it is
// found again after a lost answer.
func TestEveryWritePassesTheGate(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	ctx := context.Background()
	w := newWorld(t, func(_ *ghtest.Config, c *ghapp.Config) {
		c.Clean = func(s string) string { return strings.ReplaceAll(s, secret, "[redacted]") }
	})
	head := w.gh.Thread(w.pull).Pull.HeadSHA
	text := func(s string) string { return s + " says " + secret + " twice: " + secret }
	cm, err := w.client.Perform(ctx, ghapp.Write{Key: "first", Kind: ghapp.WriteComment, Thread: w.issue, Body: text("comment")})
	must(t, err)
	for i, wr := range []ghapp.Write{
		{Kind: ghapp.WriteComment, Thread: w.issue, Body: text("another")},
		{Kind: ghapp.WriteEditComment, Thread: w.issue, Target: ghapp.Target{Comment: cm.ID}, Body: text("edited")},
		{Kind: ghapp.WriteIssue, Title: text("issue"), Body: text("its body")},
		{Kind: ghapp.WriteEditPull, Thread: w.pull, Pull: &ghapp.PullSpec{Title: text("title"), Body: text("body")}},
		{Kind: ghapp.WriteReview, Thread: w.pull, Review: &ghapp.ReviewSpec{Commit: head, Body: text("review"), Comments: []ghapp.Inline{{Path: "src/a.go", Line: 3, Body: text("inline")}}}},
		{Kind: ghapp.WriteCheck, Thread: w.pull, Check: &ghapp.CheckSpec{Name: "agent", SHA: head, Status: "completed", Conclusion: "success",
			Title: text("check"), Summary: text("summary"), Text: text("text")}},
	} {
		wr.Key = fmt.Sprintf("key-%d", i)
		if wr.Thread.Number == 0 {
			wr.Thread = w.issue
			wr.Thread.Number = 0
		}
		t.Run(string(wr.Kind), func(t *testing.T) {
			if _, err := w.client.Perform(ctx, wr); err != nil {
				t.Fatal(err)
			}
			if _, found, err := w.client.Find(ctx, wr); err != nil || !found {
				t.Errorf("Find = %t, %v, want what was just written", found, err)
			}
		})
	}
	all := fmt.Sprintf("%+v %+v", w.gh.Threads(repo), w.gh.Checks(repo))
	for _, th := range w.gh.Threads(repo) {
		all += fmt.Sprintf("%+v", th)
		if th.Pull != nil {
			all += fmt.Sprintf("%+v", *th.Pull)
		}
	}
	if strings.Contains(all, secret) {
		t.Errorf("the secret is on GitHub:\n%s", all)
	}
	for _, want := range []string{"edited", "its body", "title", "review", "inline", "summary"} {
		if !strings.Contains(all, want+" says [redacted]") {
			t.Errorf("%q is not on GitHub", want)
		}
	}
}
