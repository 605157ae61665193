package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestCheckout says the commit of the checkout that a program was built in,
// whether it was changed, and nothing when the commit is newer than the program.
func TestCheckout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-03-04T05:06:07Z", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "-q")
	source := filepath.Join(dir, "main.go")
	write(t, source, "package main\n")
	run("add", "-A")
	run("commit", "-q", "-m", "first")
	want, err := git(t.Context(), dir, "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	write(t, program, "")

	var clean, changed, older, none Info
	clean.checkout(t.Context(), dir, program)
	if clean.Commit+"\n" != want || clean.Modified {
		t.Errorf("in a clean checkout: %+v, not %s", clean, want)
	}
	write(t, source, "package main // changed\n")
	changed.checkout(t.Context(), dir, program)
	if changed.Commit+"\n" != want || !changed.Modified {
		t.Errorf("in a changed checkout: %+v", changed)
	}
	before := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	if err := os.Chtimes(program, before, before); err != nil {
		t.Fatal(err)
	}
	older.checkout(t.Context(), dir, program)
	if older != (Info{}) {
		t.Errorf("of a program older than the commit: %+v", older)
	}
	none.checkout(t.Context(), t.TempDir(), program)
	if none != (Info{}) {
		t.Errorf("outside any checkout: %+v", none)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
