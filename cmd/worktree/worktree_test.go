package worktree_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/cmd/worktree"
	"github.com/handrail-bot/handrail/gitops"
)

// TestSettings: git's settings count as git reads them, and cost two processes.
func TestSettings(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	home, bin, dir := t.TempDir(), t.TempDir(), t.TempDir()
	calls := filepath.Join(bin, "calls")
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%s\nexec %s \"$@\"\n", calls, program)
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for name, text := range map[string]string{
		".gitconfig":         "[core]\n\tautocrlf = input\n\tautocrlf\n\tattributesFile = ~/own attributes\n[filter \"a.b\"]\n\tclean = x\n\tprocess = y\n",
		".config/git/ignore": "*.log\n",
		"own attributes":     "*.go text\n",
	} {
		p := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), program, "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git/info/exclude"), []byte("tmp/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	tree, err := worktree.Of(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(calls); err != nil {
		t.Fatal(err)
	}
	want := gitops.Settings{Ignored: "*.log\n\ntmp/\n", Below: "*.go text\n", AutoCRLF: true, Filters: []string{"a.b"}}
	if diff := cmp.Diff(want, tree.Settings(t.Context())); diff != "" {
		t.Error(diff)
	}
	ran, err := os.ReadFile(calls)
	if n := strings.Count(string(ran), "\n"); err != nil || n != 3 { // one more for the ~
		t.Errorf("%d processes, %v:\n%s", n, err, ran)
	}
}
