package work

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/secret"
)

// canary stands for a secret that the process was given.
const canary = "kX7-canary-Qz93vWmT5rLp82Yb"

// The scan of a commit finds a credential in added text with its line, in a
// binary file, in a name, and says so of what is too large; it finds nothing
// in what was there before.
func TestScanOfACommit(t *testing.T) {
	token := "ghp_" + "x7Jq2LmN8vRt4WzK1pYc5BdF9hGs3AeUo6Qi"
	repo, base := scanRepo(t, map[string]string{"old.txt": "token " + token + "\n", "a.txt": "one\n"})
	tip, err := repo.Checkpoint(t.Context(), gitops.Checkpoint{Parent: base, Meta: gitops.Meta{Message: "x", Author: gitops.Signature{Name: "n", Email: "e@x"}}, Changes: []gitops.Change{
		{Path: "a.txt", Open: content("one\ntwo\n" + token + "\n")},
		{Path: "old.txt", Open: content("token " + token + "\nmore\n")},
		{Path: "b.bin", Open: content("\x00\x01" + canary)},
		{Path: "c.bin", Open: content("\x00\x01\x02")},
		{Path: "d-" + canary + ".txt", Open: content("x\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	scan := commitScan{Secrets{Redactor: secret.NewRedactor(canary), Scanner: func() (*secret.Scanner, error) { return secret.NewScanner(canary) }}, repo}
	found, err := scan.Scan(t.Context(), base, tip.ID, []string{"a.txt", "b.bin", "c.bin", "d-" + canary + ".txt", "old.txt"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, l := range found {
		got[l.Path] = l.Line
		if strings.Contains(l.Text+l.Rule, token) || strings.Contains(l.Text, canary) {
			t.Errorf("the finding holds the credential: %+v", l)
		}
	}
	want := map[string]int{"a.txt": 3, "b.bin": 1, "d-" + canary + ".txt": 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if out := scan.Hide("+x " + token + "\n+api_key = \"8f3kd92ls0alq7xmv5nb1zt6\"\n"); strings.Contains(out, token) || strings.Contains(out, "8f3kd") {
		t.Errorf("shown: %q", out)
	}
}

func content(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

func scanRepo(t *testing.T, files map[string]string) (*gitops.Mirror, string) {
	t.Helper()
	return linkedRepo(t, files, nil)
}

// linkedRepo has a commit with files and symlinks.
func linkedRepo(t *testing.T, files, links map[string]string) (*gitops.Mirror, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Symlink(target, at)); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"init -q -b main", "add -A", "-c user.name=T -c user.email=t@x commit -q -m start"} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, strings.Fields(line)...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}
	repo, err := gitops.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	})
	base, err := repo.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return repo, base
}
