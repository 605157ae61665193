package agent

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// TestWrittenAnswers plays answers in the shapes in which models write them: each brings the files of
// repo/ to those of goal/ (solved/NAME), or changes no file and is asked again (kept/NAME).
func TestWrittenAnswers(t *testing.T) {
	names, err := filepath.Glob("testdata/written/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no answers: %v", err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dirs := map[string]map[string]string{}
		for _, f := range a.Files {
			dir, p, _ := strings.Cut(f.Name, "/")
			if dirs[dir] == nil {
				dirs[dir] = map[string]string{}
			}
			dirs[dir][p] = strings.ReplaceAll(string(f.Data), "␍", "\r")
		}
		goal := maps.Clone(dirs["repo"])
		maps.Copy(goal, dirs["goal"])
		about := headerOf(a)
		for p, say := range dirs["solved"] {
			t.Run(p, func(t *testing.T) { playWritten(t, about, dirs["repo"], goal, say) })
		}
		for p, say := range dirs["kept"] {
			t.Run(p, func(t *testing.T) { playWritten(t, about, dirs["repo"], dirs["repo"], say) })
		}
	}
}

func playWritten(t *testing.T, about, repo, want map[string]string, say string) {
	b := newBench(t, filesHead+says(strings.TrimSuffix(say, "\n"))+"- {say: \"I can do no more.\", repeat: true, optional: true}\n", maps.Clone(repo))
	b.cfg.Form, b.task.Text = llm.FormAuto, about["task"]
	b.cfg.Provide = func(context.Context, string, llm.Form) (out []session.Item) {
		for _, p := range strings.Fields(about["view"]) {
			out = append(out, session.Item{Kind: session.ItemFile, Name: p, Text: repo[p]})
		}
		return out
	}
	out, err := b.run(t.Context())
	if err != nil || (out.Status == session.StatusDone) != !maps.Equal(repo, want) {
		t.Errorf("ended as %s (%s), %v", out.Status, out.Reason, err)
	}
	now := b.states.trees[b.states.last]
	if now == nil {
		now = repo
	}
	if d := cmp.Diff(want, now); d != "" {
		t.Errorf("the files (-want +got):\n%s", d)
	}
}
