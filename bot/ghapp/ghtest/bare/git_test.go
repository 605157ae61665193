package bare

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDiffFiles compares what git's raw list and its patches say together.
func TestDiffFiles(t *testing.T) {
	d, err := Init(filepath.Join(t.TempDir(), "r.git"), "main")
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(t.TempDir(), "w")
	run := func(args ...string) string {
		t.Helper()
		cmd := Command(work, args...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(work, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		run("add", "-A")
		run("commit", "-q", "-m", "change "+path)
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	run("clone", "-q", d.Path, ".")
	long := strings.Repeat("one line of many\n", 30)
	for path, text := range map[string]string{"gone": "x\n", "kept": "a\nb\n", "link": "l\n", "moved": long, "run.sh": "r\n"} {
		commit(path, text)
	}
	base := run("rev-parse", "HEAD")
	run("rm", "-q", "gone", "link")
	if err := os.Symlink("kept", filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(work, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	run("mv", "moved", "to here")
	commit("bin", "\x00\x01\n")
	commit("kept", "a\ndiff --git a/x b/x\n")
	commit("to here", long+"more\n")
	run("push", "-q", "origin", "HEAD:refs/heads/main")
	head := d.Branch("main")
	for range 2 { // the second answer is remembered
		files, err := d.DiffFiles(base, head)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, fmt.Sprintf("%s %q from %q +%d -%d %.12q", f.Status, f.Name, f.Previous, f.Add, f.Del, f.Patch))
		}
		want := []string{
			`added "bin" from "" +0 -0 ""`,
			`removed "gone" from "" +0 -1 "@@ -1 +0,0 @"`,
			`modified "kept" from "" +1 -1 "@@ -1,2 +1,2"`,
			`modified "link" from "" +1 -0 "@@ -0,0 +1 @"`,
			`modified "run.sh" from "" +0 -0 ""`,
			`renamed "to here" from "moved" +1 -0 "@@ -28,3 +28"`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if files, err := d.DiffFiles(head, head); err != nil || len(files) != 0 {
		t.Errorf("nothing changed: %v %v", files, err)
	}
}

// TestHeads: branches are the same in files of their own, in git's packed file, and beside a
// branch that is another's name.
func TestHeads(t *testing.T) {
	d, err := Init(filepath.Join(t.TempDir(), "r.git"), "main")
	if err != nil {
		t.Fatal(err)
	}
	sha, err := d.Commit(Change{Branch: "main", Author: "kim", Message: "start", Files: map[string]string{"a": "1\n"}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	later, err := d.Commit(Change{Branch: "agent/one", Parent: sha, Author: "kim", Message: "more", Files: map[string]string{"a": "2\n"}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Path, "refs", "heads", "main.lock"), nil, 0o644); err != nil { // git moves the branch
		t.Fatal(err)
	}
	want := map[string]string{"main": sha, "agent/one": later}
	if heads, ok := d.looseHeads(); !ok || !maps.Equal(heads, want) {
		t.Errorf("files have %v, %v; want %v", heads, ok, want)
	}
	if err := os.Remove(filepath.Join(d.Path, "refs", "heads", "main.lock")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"symbolic-ref", "refs/heads/same", "refs/heads/main"}, {"pack-refs", "--all"}} {
		if _, err := d.Run(nil, args...); err != nil {
			t.Fatal(err)
		}
		want["same"] = sha
		if heads, ok := d.looseHeads(); ok {
			t.Errorf("after %v the files alone are taken: %v", args, heads)
		}
		if heads := d.Heads(); !maps.Equal(heads, want) {
			t.Errorf("after %v: %v, want %v", args, heads, want)
		}
	}
}
