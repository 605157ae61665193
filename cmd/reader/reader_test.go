package reader_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/reader"
)

const repo = "acme/widget"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world has an issue and a pull request on which there is something of each kind.
type world struct {
	gh          *ghcheck.Server
	issue, pull thread.Ref
	client      *ghapp.Client
	job         int64
}

func newWorld(t *testing.T) world {
	t.Helper()
	var w world
	var err error
	w.gh, err = ghcheck.New(ghtest.Config{Dir: t.TempDir()})
	must(t, err)
	must(t, w.gh.Start())
	t.Cleanup(func() {
		must(t, w.gh.Close())
		for _, v := range w.gh.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
	w.gh.AddUser("kim", "write")
	w.gh.AddUser("rae", "")
	inst, err := w.gh.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{"a.go": "package a\n\nvar A = 1\n"}})
	must(t, err)
	w.issue, err = w.gh.OpenIssue(repo, "rae", "It breaks", "when I press the button")
	must(t, err)
	_, err = w.gh.Push(repo, "fix", "kim", map[string]string{"a.go": "package a\n\nvar A = 2\n", "long.txt": strings.Repeat("one line of many\n", 4000), "b.bin": "\x00\x01"})
	must(t, err)
	w.pull, err = w.gh.OpenPull(repo, "kim", ghcheck.NewPull{Title: "Fix it", Body: "Fixes #1", Head: "fix", Base: "main"})
	must(t, err)
	_, err = w.gh.Review(w.pull, "rae", ghcheck.NewReview{Event: "COMMENT", Comments: []ghcheck.Inline{{Path: "a.go", Line: 3, Body: "why two?"}}})
	must(t, err)
	must(t, w.gh.On(w.issue, "rae", func(is *hub.Issue, rae *hub.User) error {
		for i := range 30 {
			is.Comments = append(is.Comments, w.gh.NewComment(is, rae, fmt.Sprint("word ", i+1)))
		}
		return nil
	}))
	log := strings.Repeat("2026-01-01T00:00:00.0000000Z a line\n", 3000) + "2026-01-01T00:00:00.0000000Z ##[error]no\n"
	w.job, err = w.gh.RunCheck(repo, w.gh.Branch(repo, "fix"), ghcheck.Result{Name: "test", Conclusion: "failure", Log: log})
	must(t, err)
	_, err = w.gh.RunCheck(repo, w.gh.Branch(repo, "fix"), ghcheck.Result{Name: "a lint", Conclusion: "success"})
	must(t, err)
	app, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL() + "/api/v3/", AppID: w.gh.App().ID, PrivateKey: w.gh.App().Key, Spacing: -1, Backoff: time.Millisecond})
	must(t, err)
	w.client, err = app.For(t.Context(), w.issue, inst)
	must(t, err)
	return w
}

// resultPage is an answer as lines: its head, each text with its label, and what is more.
func told(p github.Page) string {
	out := p.Head
	for _, it := range p.Items {
		out += "\n" + it.Label + ": " + it.Text
	}
	if p.More != "" {
		out += "\nmore: " + p.More
	}
	return out
}

func TestReader(t *testing.T) {
	w := newWorld(t)
	issue, pull := int64(w.issue.Number), int64(w.pull.Number)
	for _, c := range []struct {
		name  string
		on    thread.Ref
		q     github.Query
		want  []string
		never []string
	}{
		{"own issue", w.issue, github.Query{Part: github.Issue}, []string{"issue #1, open, 30 comments", "It breaks", "text by rae, not of this repository: when I press"}, nil},
		{"linked issue", w.issue, github.Query{Part: github.Issue, Number: pull}, []string{"pull request #2, open", "title of linked #1, open: It breaks"}, nil},
		{"newest comments", w.issue, github.Query{Part: github.Comments, Max: 2}, []string{"2 of 30 comments on #1, newest first\ncomment 30 by rae, not of this repository", ": word 30\ncomment 29", "more: older comments: before=29"}, []string{"word 28"}},
		{"older comments", w.pull, github.Query{Part: github.Comments, Number: issue, Before: 3, Max: 20}, []string{"comment 2 by", "word 1"}, []string{"word 3", "more:"}},
		{"pull request", w.pull, github.Query{Part: github.PullRequest}, []string{"pull request #2, open, at ", "3 files, +4001 -1", "from fix into main", "description by kim: Fixes #1", "modified a.go +1 -1", "added b.bin +0 -0"}, nil},
		{"diff", w.pull, github.Query{Part: github.Diff, Bytes: 3000}, []string{"diff of #2, 2 of 3 files", "+var A = 2", "files that had no room: long.txt +4000 -0", "more: ask for the files"}, []string{"one line of many"}},
		{"diff of a file", w.issue, github.Query{Part: github.Diff, Number: pull, Path: "long.txt", Bytes: 3000}, []string{"diff of added long.txt +4000 -0: @@", "more: lines 1 to 166 of 4001; go on with after=166"}, nil},
		{"rest of a file", w.pull, github.Query{Part: github.Diff, Path: "./long.txt", After: 3999, Bytes: 3000}, []string{": +one line of many\n+one line of many"}, []string{"@@", "more:"}},
		{"binary file", w.pull, github.Query{Part: github.Diff, Path: "b.bin", Bytes: 3000}, []string{"more: GitHub shows no diff of it"}, nil},
		{"review threads", w.pull, github.Query{Part: github.ReviewThreads}, []string{"unresolved review threads of #2: 1; resolved: 0", "lines of a.go up to line 3: @@", "comment on them, 1 by rae, not of this repository", "why two?"}, nil},
		{"checks", w.pull, github.Query{Part: github.Checks}, []string{"checks of #2 at ", ": 2; failed: 1; still running: 0", fmt.Sprintf(": failure: test, job %d\nsuccess: a lint", w.job)}, nil},
		{"log", w.issue, github.Query{Part: github.JobLog, Job: w.job, Bytes: 500}, []string{"log of job", "a line\n##[error]no\n", "more: what is before: before="}, []string{"2026-01"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := reader.New(w.client, c.on, nil).Read(t.Context(), c.q)
			must(t, err)
			text := told(p)
			for _, part := range c.want {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in\n%.2000s", part, text)
				}
			}
			for _, part := range c.never {
				if strings.Contains(text, part) {
					t.Errorf("%q is in\n%.2000s", part, text)
				}
			}
		})
	}
}

// TestReaderSaysWhatIsNotThere: a model is told what to do instead.
func TestReaderSaysWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		q    github.Query
		want string
	}{
		{github.Query{Part: github.Issue, Number: 99}, "there is no #99 in this repository"},
		{github.Query{Part: github.Comments, Number: 99}, "there is no #99"},
		{github.Query{Part: github.PullRequest}, "#1 is an issue, not a pull request"},
		{github.Query{Part: github.Diff}, "#1 is an issue"},
		{github.Query{Part: github.ReviewThreads}, "#1 is an issue"},
		{github.Query{Part: github.Checks}, "#1 is an issue"},
		{github.Query{Part: github.Diff, Number: int64(w.pull.Number), Path: "c.go"}, "#2 does not change c.go"},
		{github.Query{Part: github.JobLog, Job: 5}, "there is no log of a job 5 here, or the job still runs; github with what \"checks\" lists"},
	} {
		if p, err := reader.New(w.client, w.issue, nil).Read(t.Context(), c.q); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v; want %q", c.q, p, err, c.want)
		}
	}
}
