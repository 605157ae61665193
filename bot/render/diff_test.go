package render

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// What waits is told, also where nothing is on a branch.
func TestDiffOfTheUnpushed(t *testing.T) {
	v := session.NewState()
	v.Unpushed = []session.FileChange{{Path: ".github/workflows/ci.yml"}, {Path: "a`b.txt"}}
	for _, list := range [][]session.Checkpoint{nil, {{Commit: "c"}}} {
		v.Checkpoints = list
		got := Diff(v, "https://github.test/team/app/compare/a...b")
		if !strings.HasPrefix(got, "Not on the branch yet: `.github/workflows/ci.yml` and `` a`b.txt ``.\n") {
			t.Errorf("with %d checkpoints: %q", len(list), got)
		}
	}
	v.Unpushed = nil
	if got := Diff(v, "x"); strings.Contains(got, "Not on the branch") {
		t.Errorf("nothing waits: %q", got)
	}
}

// What a reader cuts out of the comments with a diff, git applies; what a comment would
// change is not shown.
func TestDiffPartsAreWhatGitTakes(t *testing.T) {
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=T", "-c", "user.email=t@x"}, args...)...)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("git %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("", "init", "-q")
	write("a.md", "one\n```\ntwo\n")
	git("", "add", "-A")
	git("", "commit", "-q", "-m", "x")
	var long strings.Builder
	for i := range 12_000 {
		fmt.Fprintln(&long, "line", i)
	}
	for name, c := range map[string]struct {
		text  string
		parts int
	}{"fences, mentions and tags": {"one\n````diff\n@kim #7 <b>\n</details>\ntwo", 1}, "long": {long.String(), 3}, "hidden characters": {"on\u202ee\n", 0}, "closing words": {"fixes #7\n", 0}} {
		write("a.md", c.text)
		write("new.md", c.text)
		git("", "add", "-A")
		diff := git("", "diff", "--cached", "--binary")
		git("", "reset", "-q", "--hard")
		var got strings.Builder
		shown := 0
		for _, p := range DiffParts(diff) {
			for range p.Folds {
				shown++
				_, text, _ := strings.Cut(posted(p), "</summary>\n\n")
				mark, rest, _ := strings.Cut(text, "diff\n")
				text, _, _ = strings.Cut(rest, "\n"+mark+"\n")
				got.WriteString(text + "\n")
			}
		}
		if shown == 0 && c.parts == 0 {
			continue
		}
		if shown < c.parts {
			t.Errorf("%s: %d parts", name, shown)
		}
		git(got.String(), "apply", "--check", "-")
	}
}
