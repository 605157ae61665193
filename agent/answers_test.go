package agent

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestRealAnswers plays what real models answered to tasks of the ladder. Each answer is
// read as it was meant, or refused and the next one asked for; files that it was not about
// stay as they are.
func TestRealAnswers(t *testing.T) {
	longtest.Leave(t)
	names, err := filepath.Glob("../testdata/ladder/answers/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no answers: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { playAnswer(t, name) })
	}
}

func playAnswer(t *testing.T, name string) {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	about := headerOf(a)
	task, err := txtar.ParseFile("../testdata/ladder/" + about["task"] + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	repo, solution := map[string]string{}, map[string]string{}
	for _, f := range task.Files {
		if p, ok := strings.CutPrefix(f.Name, "repo/"); ok {
			repo[p] = string(f.Data)
		} else if p, ok := strings.CutPrefix(f.Name, "solution/"); ok {
			solution[p] = string(f.Data)
		}
	}
	view := about["view"]
	script := filesHead + says(string(a.Files[0].Data))
	if about["want"] != "solved" {
		script += "- {say: \"I can do no more.\", repeat: true}\n"
	}
	b := newBench(t, script, repo)
	b.cfg.Form = llm.FormAuto
	b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
		return []session.Item{{Kind: session.ItemFile, Name: view, Text: repo[view]}}
	}
	out, err := b.run(t.Context())
	if err != nil || (out.Status == session.StatusDone) != (about["want"] == "solved") {
		t.Fatalf("ended as %s (%s), %v: %q", out.Status, out.Reason, err, b.states.trees[b.states.last][view])
	}
	const sameAgain = "(nothing)"
	var told string
	for _, n := range events[session.Note](b, session.TypeNote) {
		if n.Back > 0 && told == "" {
			told = cmp.Or(n.Text, sameAgain)
		}
	}
	now := b.states.trees[b.states.last]
	if now == nil {
		now = repo
	}
	for p, text := range repo {
		if p != view && now[p] != text {
			t.Errorf("%s, which the request is not about, is %q", p, now[p])
		}
	}
	switch about["want"] {
	case "solved":
		if _, ok := solution[view]; !ok || now[view] == repo[view] || out.Turns != 1 || strings.Contains(now[view], "```") {
			t.Errorf("after %d turns %s is %q", out.Turns, view, now[view])
		}
		return
	case "same":
		if told != sameAgain {
			t.Errorf("told: %s", told)
		}
	case "seen":
		if !strings.Contains(told, "is shown above already") {
			t.Errorf("told: %s", told)
		}
	case "refused":
		if told == "" || strings.Contains(told, "There was no file") {
			t.Errorf("told: %s", told)
		}
	default:
		t.Fatalf("%s: want is solved, same, seen or refused, not %q", name, about["want"])
	}
	if now[view] != repo[view] {
		t.Errorf("%s is %q", view, now[view])
	}
}

// headerOf returns the lines "key: value" above the files of an archive.
func headerOf(a *txtar.Archive) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(a.Comment)) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			out[k] = strings.TrimSpace(v)
		}
	}
	return out
}
