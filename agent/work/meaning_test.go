package work

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/policy"
)

// noRows keeps no vectors.
type noRows struct{}

func (noRows) Vectors(context.Context, string, []string) (map[string][]byte, error) { return nil, nil }

func (noRows) PutVectors(context.Context, string, string, []byte) error { return nil }

// A file that rules hide, or that is outside of the workspace's part of the repository, is
// neither embedded nor found: its text does not reach the model.
func TestHiddenHasNoMeaning(t *testing.T) {
	repo, commit := linkedRepo(t, map[string]string{
		".agentignore": "secret.go\nkeys/\n", "secret.go": "package a\n\nfunc Canary() { car() }\n", "keys/k.go": "package a\n\nfunc Canary() { car() } // k\n",
		"other/o.go": "package a\n\nfunc Canary() { car() } // o\n", "in/a.go": "package a\n\nfunc Drive() { car() }\n",
		"in/vendor/v.go": "package a\n\nfunc Canary() { car() } // v\n",
	}, map[string]string{"in/link.go": "../secret.go"})
	hidden, err := project.HiddenBy(t.Context(), FilesAt(repo, commit))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	ready := make(chan struct{})
	told := func(p index.Progress) {
		if p.Total > 0 && p.Done == p.Total {
			close(ready)
		}
	}
	x := index.New(index.Config{Told: told, Vectors: noRows{}, Redact: func(s string) string { return s }, Embedder: llmtest.Embedder{Asked: func(texts []string) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, texts...)
	}}})
	defer x.Close()
	e := New(Config{Index: x, Log: slog.New(slog.DiscardHandler)})
	ws := place{rules: hidden, shows: policy.Workspace{Paths: []string{"in"}}}
	at := session.NewState()
	at.Saved = commit
	view, err := e.meaning(t.Context(), ws, Job{Repo: repo, Name: "hello"}, at)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range view.Tree.Files {
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{".agentignore", "in/a.go"}, paths); diff != "" {
		t.Error(diff)
	}
	select {
	case <-ready:
	case <-t.Context().Done():
		t.Fatal("the index is not ready")
	}
	if p := x.Progress(); len(p) != 1 || p[0].Repo != "hello" || p[0].Skipped != 0 {
		t.Errorf("progress is %v", p)
	}
	view.Changed = nil
	got, err := view.Ask(t.Context(), index.Question{Text: "Canary car", Max: 10})
	if err != nil || len(got.Hits) == 0 || got.Hits[0].Path != "in/a.go" {
		t.Errorf("found %+v, %v", got, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(asked[1:], "\n"); strings.Count(all, "Canary") != 1 || !strings.Contains(all, "Drive") { // once in the question
		t.Errorf("the model was asked %q", all)
	}
}

// Changes are the files that a session may see, without the results of a build.
func TestChangedFiles(t *testing.T) {
	repo, commit := linkedRepo(t, map[string]string{
		".agentignore": "secret.go\n", ".gitignore": "out/\n", "a.go": "package a\n", "gone.go": "package a\n", "same.go": "package a\n",
	}, nil)
	hidden, err := project.HiddenBy(t.Context(), FilesAt(repo, commit))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := local.New(local.Config{})
	if err != nil {
		t.Fatal(err)
	}
	src := t.TempDir()
	for name, text := range map[string]string{".agentignore": "secret.go\n", ".gitignore": "out/\n", "a.go": "package a\n", "gone.go": "package a\n", "same.go": "package a\n"} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := engine.Open(t.Context(), workspace.Spec{Session: "s", Source: src, State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.Close(context.WithoutCancel(t.Context())) }()
	if _, err := ws.Run(t.Context(), workspace.Command{
		Line: "echo new > a.go; rm gone.go; mkdir out; echo x > out/x.go; echo y > y.go; echo CANARY > secret.go; ln -s a.go l.go",
	}, nil); err != nil {
		t.Fatal(err)
	}
	at := place{Workspace: ws, rules: hidden}
	got, err := changedFiles(at, visible(at))(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.go", "y.go"} {
		if len(got.Files[name]) == 0 {
			t.Errorf("%s is %q", name, got.Files[name])
		}
	}
	for _, name := range []string{"gone.go", "out/x.go", "secret.go", "l.go"} {
		if text := got.Files[name]; text != nil {
			t.Errorf("%s is %q", name, text)
		}
	}
	if _, ok := got.Files["gone.go"]; !ok || got.Left != 0 {
		t.Errorf("changes are %v", got)
	}
	if _, ok := got.Files["same.go"]; ok {
		t.Error("an unchanged file is among the changes")
	}
}
