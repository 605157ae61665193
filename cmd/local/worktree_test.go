package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/gitops"
)

// TestSettings: git's settings count as git reads them, and cost one process.
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
		".gitconfig":         "[user]\n\tname = Kim\n\temail = kim@example.org\n[core]\n\tautocrlf = input\n\tautocrlf\n\tattributesFile = ~/own attributes\n[filter \"a.b\"]\n\tclean = x\n\tprocess = y\n",
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
	tree, err := WorkTreeOf(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(calls); err != nil {
		t.Fatal(err)
	}
	want := gitops.Settings{Ignored: "*.log\n\ntmp/\n", Below: "*.go text\n", AutoCRLF: true, Filters: []string{"a.b"}}
	got, by := tree.settings(t.Context())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(gitops.Signature{Name: "Kim", Email: "kim@example.org"}, by); diff != "" {
		t.Error(diff)
	}
	ran, err := os.ReadFile(calls)
	if n := strings.Count(string(ran), "\n"); err != nil || n != 2 { // one more for the ~
		t.Errorf("%d processes, %v:\n%s", n, err, ran)
	}
}

// TestPlaces: the tree and the clone's own files are found from each place in it.
func TestPlaces(t *testing.T) {
	clone, other := filepath.Join(t.TempDir(), "line\nend"), filepath.Join(t.TempDir(), "other\nend")
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	git("init", "-q", clone)
	git("-C", clone, "commit", "-q", "--allow-empty", "-m", "first")
	git("-C", clone, "worktree", "add", "-q", "--detach", other)
	for name, text := range map[string]string{"exclude": "tmp/\n", "attributes": "*.go text\n"} {
		if err := os.WriteFile(filepath.Join(clone, ".git", "info", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, top := range []string{clone, other} {
		below := filepath.Join(top, "a", "b")
		if err := os.MkdirAll(below, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{top, below, "."} {
			t.Chdir(below)
			tree, err := WorkTreeOf(t.Context(), at)
			if err != nil || tree.dir != top {
				t.Errorf("%q: %q, %v; want %q", at, tree.dir, err, top)
			}
			got, _ := tree.settings(t.Context())
			if !strings.HasSuffix(got.Ignored, "\ntmp/\n") || got.Above != "*.go text\n" {
				t.Errorf("%q: %+v", at, got)
			}
		}
	}
}
