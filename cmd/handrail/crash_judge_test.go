package main

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/records"
)

// verdict collects what is missing and what is there twice.
type verdict struct{ lost, duplicates []string }

// exactly compares a count.
func (v *verdict) exactly(what string, got, want int) {
	switch {
	case got < want:
		v.lost = append(v.lost, fmt.Sprintf("%d %s, want %d", got, what, want))
	case got > want:
		v.duplicates = append(v.duplicates, fmt.Sprintf("%d %s, want %d", got, what, want))
	}
}

func (v *verdict) is(what string, got, want any) {
	if got != want {
		v.lost = append(v.lost, fmt.Sprintf("%s: %v, want %v", what, got, want))
	}
}

// judge compares what is there after a story with what must be.
func (w *crashWorld) judge(t *testing.T) (lost, duplicates []string) {
	t.Helper()
	v := &verdict{}
	w.judgeThread(v)
	w.judgeBranches(t, v)
	w.judgeStore(t, v)
	for _, text := range w.gh.Violations() {
		v.lost = append(v.lost, "GitHub was spoken to wrongly: "+text)
	}
	return v.lost, v.duplicates
}

func (w *crashWorld) thread() string {
	var b strings.Builder
	for _, c := range w.gh.Thread(w.issue).Comments {
		fmt.Fprintf(&b, "--- %s\n%s\n", c.Author, c.Body)
	}
	return b.String()
}

// own returns the bot's comments whose marker begins like this.
func (w *crashWorld) own(th ghtest.Thread, marker string) []ghtest.Comment {
	var out []ghtest.Comment
	for _, c := range th.Comments {
		if c.Author == cmp.Or(w.bot, w.gh.App().Login) && strings.Contains(c.Body, "<!-- handrail:"+marker) {
			out = append(out, c)
		}
	}
	return out
}

func (w *crashWorld) judgeThread(v *verdict) {
	th := w.gh.Thread(w.issue)
	progress := w.own(th, "progress-")
	v.exactly("progress comments", len(progress), w.wishes(1, 2))
	v.exactly("requests for approval", len(w.own(th, "ask-")), len(w.asks))
	v.exactly("ends that are told", len(w.own(th, "final-")), w.wishes(1, 2))
	away := min(1, len(w.own(th, "away-"))) // where GitHub often fails it may be said, once
	v.exactly("comments of the bot", len(w.own(th, "")), len(w.asks)+w.wishes(2, 4)+away)
	for _, c := range progress {
		v.is("the state in the progress comment", strings.Contains(c.Body, "✅ **done**"), true)
	}
	want := map[string]string{"/agent fix": "eyes", "/agent approve": "+1", "/agent also": "eyes"}
	for _, c := range th.Comments {
		for begin, sign := range want {
			if strings.HasPrefix(c.Body, begin) {
				v.exactly("reactions to "+begin, len(c.Reactions), 1)
				for _, r := range c.Reactions {
					v.is("the reaction to "+begin, r.Content, sign)
				}
			}
		}
	}
}

// wishes picks what a story without or with the further wish must have.
func (w *crashWorld) wishes(brief, whole int) int {
	if w.brief {
		return brief
	}
	return whole
}

func (w *crashWorld) judgeBranches(t *testing.T, v *verdict) {
	t.Helper()
	var pulls []ghtest.Thread
	for _, th := range w.gh.Threads(w.repo) {
		if th.Pull != nil {
			pulls = append(pulls, th)
		}
	}
	v.exactly("pull requests", len(pulls), 1)
	v.exactly("branches", len(w.gh.Branches(w.repo)), 2)
	checks := map[string]int{}
	for _, c := range w.gh.Checks(w.repo) {
		checks[c.ExternalID]++
		v.exactly("check runs with the id "+c.ExternalID, checks[c.ExternalID], 1)
		v.is("the status of the check run "+c.Title, c.Status, "completed")
	}
	if len(pulls) != 1 {
		return
	}
	v.exactly("reviews", len(pulls[0].Pull.Reviews), 0)
	head := pulls[0].Pull.HeadSHA
	log, err := w.gh.Log(w.repo, head)
	must(t, err)
	files := map[string]string{"greet.sh": "echo Hello\n", "ran.txt": "ran\n"}
	if !w.brief {
		files["notes.txt"] = "noted\n"
	}
	v.exactly("commits", len(log), 1+w.wishes(2, 3))
	for path, want := range files {
		got, err := w.gh.File(w.repo, head, path)
		if err != nil {
			got = err.Error()
		}
		v.is(path, got, want)
	}
	if _, err := w.gh.File(w.repo, head, "build/out"); err == nil {
		v.lost = append(v.lost, "build/out is still there")
	}
}

func (w *crashWorld) judgeStore(t *testing.T, v *verdict) {
	t.Helper()
	ctx := t.Context()
	s, err := records.Open(ctx, config.Server{Data: w.child.Data, Database: w.child.Database}, logger(&w.log, "error"))
	must(t, err)
	defer func() { must(t, s.Close()) }()
	n, err := store.Verify(ctx, s.Logs, func(h store.Head, _ []session.Event, err error) {
		if err != nil {
			v.lost = append(v.lost, fmt.Sprintf("the log of %s does not verify: %v", h.Session, err))
		}
	})
	must(t, err)
	v.exactly("logs", n, 1)
	row, err := s.Sessions.ByThread(ctx, w.issue.Key())
	must(t, err)
	v.is("the state of the session", row.State, session.PhaseDone)
	open, err := s.Intents.Open(ctx, row.ID)
	must(t, err)
	v.exactly("open intents", len(open), 0)
	if d, err := s.Deliveries.Next(ctx, w.issue.Key()); err == nil {
		v.lost = append(v.lost, "delivery "+d.ID+" is not worked on")
	}
	events, err := s.Logs.Log(store.Fence{Key: row.ID}).Events(ctx, 0)
	must(t, err)
	w.judgeEvents(t, v, events)
	w.judgeRuns(t, v, events)
}

// judgeEvents checks that each thing was asked, answered and done once.
func (w *crashWorld) judgeEvents(t *testing.T, v *verdict, events []session.Event) {
	t.Helper()
	results, calls, cut, cutRuns := map[string]int{}, 0, 0, 0
	runs := map[string]bool{} // calls that people were asked for
	count := map[session.Type]int{}
	for _, e := range events {
		count[e.Type]++
		switch e.Type {
		case session.TypeResult:
			r, err := session.Decode[session.Result](e)
			must(t, err)
			results[r.Call]++
			if r.Cut {
				cut++
			}
			if r.Cut && runs[r.Call] {
				cutRuns++
			}
		case session.TypeAsked:
			a, err := session.Decode[session.Asked](e)
			must(t, err)
			runs[a.Call] = true
		case session.TypeAnswer:
			a, err := session.Decode[session.Answer](e)
			must(t, err)
			calls += len(a.Calls)
		}
	}
	v.exactly("answers of the model", count[session.TypeAnswer], w.wishes(3, 5)+cut)
	v.exactly("requests in the log", count[session.TypeAsked], 1+cutRuns)
	v.exactly("answers of people in the log", count[session.TypeResolved], 1+cutRuns)
	v.exactly("requests in the thread", len(w.asks), 1+cutRuns)
	if most := w.kills + w.stops + w.cutOff(); cut > most {
		v.duplicates = append(v.duplicates, fmt.Sprintf("%d calls were cut off by %d ends of a server", cut, most))
	}
	v.exactly("further wishes in the log", count[session.TypeMessage], w.wishes(0, 1))
	v.exactly("results", len(results), calls)
	for call, n := range results {
		v.exactly("results of "+call, n, 1)
	}
}
