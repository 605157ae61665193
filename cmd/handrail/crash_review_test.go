package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// crashReviewModel makes its calls again when one of them ended with the
// workspace; the edit that is there already changes nothing.
const crashReviewModel = `
model: {name: m, tools: true, context: 32768}
select: by-conditions
forget: true
turns:
- {when: {turn: 0}, repeat: true, optional: true, calls: [` + crashReviewCalls + `]}
- {when: {tool_result_contains: call of edit_file began}, repeat: true, optional: true, calls: [` + crashReviewCalls + `]}
- {when: {contains: replicas}, repeat: true, optional: true, say: "Both are done. [TASK_COMPLETE]"}
`

const crashReviewCalls = `
  {name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}},
  {name: edit_file, arguments: {path: deploy/app.yaml, old_string: "replicas: 1", new_string: "replicas: 2"}}`

// TestCrashReview kills the server at the steps of a story in which an edit
// is put up for review, approved, taken, and its pull request ended: nothing
// of that is lost or happens twice.
func TestCrashReview(t *testing.T) {
	longtest.Leave(t)
	needProcesses(t)
	tally := &crashTally{}
	t.Run("steps", func(t *testing.T) {
		var next atomic.Int64
		var over atomic.Bool
		for range crashWorlds {
			t.Run("world", func(t *testing.T) {
				t.Parallel()
				stage := newReviewStage(t)
				for !over.Load() && !t.Failed() {
					n := 1 + (next.Add(1)-1)*int64(*crashSteps)
					if w := stage.reviewWorld(t, n); w.finishReview(t, tally) == 0 {
						over.Store(true)
					}
				}
			})
		}
	})
	_, _ = fmt.Fprintf(io.Writer(os.Stdout), "crash of reviews: kills %d, lost %d, duplicates %d\n", tally.kills, tally.lost, tally.duplicates)
}

func newReviewStage(t *testing.T) *crashStage {
	t.Helper()
	g := newCrashStage(t)
	script, err := llmtest.ParseScript([]byte(crashReviewModel))
	must(t, err)
	g.model, err = llmtest.Start(script, llmcheck.Dialect)
	must(t, err)
	t.Cleanup(g.model.Close)
	g.gh.AddUser("kim", "write")
	return g
}

// reviewWorld tells the story with a server that dies at step n.
func (g *crashStage) reviewWorld(t *testing.T, n int64) *crashWorld {
	t.Helper()
	w := g.world(t, crashFaults(1))
	w.repo += "-review"
	_, err := w.gh.AddRepo("team", strings.TrimPrefix(w.repo, "team/"), ghtest.Source{Files: map[string]string{
		"greet.sh": "echo Helo\n", "deploy/app.yaml": oldApp, ".github/agent.yml": byReview + eachEnd,
	}})
	must(t, err)
	w.at = n
	w.start(t, n)
	restart := func() { w.kills++; w.start(t, 0) }
	w.issue, err = w.gh.OpenIssue(w.repo, "you", "The greeting is wrong", "It says Helo.")
	must(t, err)
	_, err = w.gh.Comment(w.issue, "you", "/agent fix the greeting and scale up")
	must(t, err)
	w.until(t, restart, func(th ghtest.Thread) bool { return len(w.own(th, "ask-")) > 0 })
	_, err = w.gh.Review(w.smallPulls()[0].Ref, "kim", ghcheck.NewReview{Event: "APPROVE"})
	must(t, err)
	w.until(t, restart, func(th ghtest.Thread) bool {
		p := w.own(th, "progress-")
		return len(p) > 0 && strings.Contains(p[0].Body, "**done**") && strings.Contains(p[0].Body, "Pull request: #")
	})
	return w
}

func (w *crashWorld) smallPulls() []ghtest.Thread {
	var out []ghtest.Thread
	for _, th := range w.gh.Threads(w.repo) {
		if th.Pull != nil && strings.HasPrefix(th.Pull.HeadRef, "handrail-review-") {
			out = append(out, th)
		}
	}
	return out
}

// finishReview stops the server, judges what is there, and says how often the
// server had died.
func (w *crashWorld) finishReview(t *testing.T, tally *crashTally) int {
	t.Helper()
	ctx := t.Context()
	restart := func() { w.kills++; w.start(t, 0) }
	w.living(ctx, t, restart, w.settled)
	w.living(ctx, t, restart, w.gh.Flush)
	for !w.stop(t) {
		restart()
		w.living(ctx, t, restart, w.settled)
	}
	must(t, w.gh.Settled(ctx))
	v := &verdict{}
	w.judgeReview(v)
	w.judgeReviewStore(t, v)
	died, _ := os.ReadFile(w.child.Trace)
	for _, text := range append(v.lost, v.duplicates...) {
		t.Errorf("died at %q (step %d): %s\n%s\n%+v", died, w.at, text, w.thread(), w.smallPulls())
	}
	if t.Failed() {
		t.Logf("server:\n%s", w.log.String())
	}
	w.cmd = nil
	tally.add(w, v.lost, v.duplicates)
	return w.kills
}

func (w *crashWorld) judgeReview(v *verdict) {
	th := w.gh.Thread(w.issue)
	v.exactly("progress comments", len(w.own(th, "progress-")), 1)
	v.exactly("requests for approval", len(w.own(th, "ask-")), 1)
	v.exactly("ends that are told", len(w.own(th, "final-")), 1)
	v.exactly("comments of the bot", len(w.own(th, "")), 3)
	v.exactly("reactions", len(th.Comments[0].Reactions), 1)
	v.exactly("branches", len(w.gh.Branches(w.repo)), 2)
	small := w.smallPulls()
	v.exactly("small pull requests", len(small), 1)
	for _, p := range small {
		v.is("the small pull request", p.State, "closed")
		v.is("its merge", p.Pull.Merged, false)
		v.exactly("its comments", len(w.own(p, "")), 1)
		v.exactly("its last words", len(w.own(p, "end-")), 1)
		v.is("that it was taken", strings.Contains(p.Comments[0].Body, "**Taken**: approved by kim"), true)
	}
	for _, p := range w.gh.Threads(w.repo) {
		if p.Pull == nil || !strings.HasPrefix(p.Pull.HeadRef, "agent/") {
			continue
		}
		log, err := w.gh.Log(w.repo, p.Pull.HeadSHA)
		v.is("the log", err, nil)
		cut := 0 // an edit that was cut off is made later, in a commit of its own
		if strings.Contains(w.thread(), "- `Writing ") {
			cut = 1
		}
		v.exactly("commits", len(log), 2+cut)
		for path, want := range map[string]string{"greet.sh": "echo Hello\n", "deploy/app.yaml": newApp} {
			got, _ := w.gh.File(w.repo, p.Pull.HeadSHA, path)
			v.is(path, got, want)
		}
		return
	}
	v.lost = append(v.lost, "the pull request of the session")
}

func (w *crashWorld) judgeReviewStore(t *testing.T, v *verdict) {
	t.Helper()
	ctx := t.Context()
	s, err := records.Open(ctx, config.Server{Data: w.child.Data, Database: w.child.Database}, logger(&w.log, "error"))
	must(t, err)
	defer func() { must(t, s.Close()) }()
	row, err := s.Sessions.ByThread(ctx, w.issue.Key())
	must(t, err)
	open, err := s.Intents.Open(ctx, row.ID)
	must(t, err)
	for _, in := range open {
		v.duplicates = append(v.duplicates, fmt.Sprintf("the intent %s (%s) is still %s", in.Key, in.Kind, in.State))
	}
	events, err := s.Logs.Log(store.Fence{Key: row.ID}).Events(ctx, 0)
	must(t, err)
	count := map[session.Type]int{}
	for _, e := range events {
		count[e.Type]++
	}
	v.exactly("requests in the log", count[session.TypeAsked], 1)
	v.exactly("answers of people in the log", count[session.TypeResolved], 1)
}
