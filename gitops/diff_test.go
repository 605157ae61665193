package gitops

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestDiffIsAPatchThatGitApplies(t *testing.T) {
	t.Parallel()
	base := map[string]string{
		"mod": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "gone": "x\n", "noeol": "a\nb", "crlf": "a\r\nb\r\n", "moved": strings.Repeat("line\n", 5) + "end\n",
		"empty-later": "x\n", "sp ace": "1\n", "q\"uote\t": "1\n", "ünï": "1\n", "tolink": "content\n", "same": "s\n",
	}
	m, head, bare, work := seeded(t, base)
	link, exec := put("tolink", "target"), put("same", "s\n")
	link.Symlink, exec.Exec = true, true
	c, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{
		put("mod", "0\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n"), {Path: "gone", Delete: true}, put("noeol", "a\nb\nc"), put("crlf", "a\r\nB\r\n"),
		{Path: "moved", Delete: true}, put("dir/moved", strings.Repeat("line\n", 5)+"END\n"), put("empty-later", ""), put("new-empty", ""),
		put("sp ace", "2\n"), put("q\"uote\t", "2\n"), put("ünï", "2\n"), link, exec, put("new", "n\nn"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	text, stats, err := m.Diff(t.Context(), head, c.ID, DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	gitIn(t, work, text, "apply", "--index", "-")
	if got := git(t, work, "write-tree"); got != c.Tree {
		t.Errorf("the patch makes tree %s, want %s; patch:\n%s", got, c.Tree, text)
	}
	if !strings.Contains(text, "rename from moved\nrename to dir/moved\n") {
		t.Errorf("the rename is not shown:\n%s", text)
	}
	if len(stats) != len(c.Files) || len(stats) != 13 {
		t.Errorf("%d stats: %+v", len(stats), stats)
	}
	back, _, err := m.Diff(t.Context(), c.ID, head, DiffOptions{Context: -1})
	if err != nil {
		t.Fatal(err)
	}
	gitIn(t, work, back, "apply", "--index", "--unidiff-zero", "-")
	if got := git(t, work, "write-tree"); got != git(t, bare, "rev-parse", head+"^{tree}") {
		t.Errorf("the patch back makes tree %s", got)
	}
	if all, _, err := m.Diff(t.Context(), "", head, DiffOptions{}); err != nil || strings.Count(all, "new file mode") != len(base) {
		t.Errorf("diff from nothing: %v\n%s", err, all)
	}
}

// TestDirectoriesWithOddNames: what a workspace can name is saved and shown.
func TestDirectoriesWithOddNames(t *testing.T) {
	t.Parallel()
	base, changes := map[string]string{"plain": "1\n"}, []Change{put("plain", "2\n")}
	for _, dir := range []string{"c\x01l", "tab\there", "new\nline", "q\"uote", " ", "x ", "con", "-dash", "ünï", "\xff"} {
		base[dir+"/f"] = "1\n"
		changes = append(changes, put(dir+"/f", "2\n"))
	}
	m, head, _, work := seeded(t, base)
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: changes}))(t)
	text, stats, err := m.Diff(t.Context(), head, c.ID, DiffOptions{})
	if err != nil || len(stats) != len(base) {
		t.Fatalf("%d of %d files differ, %v", len(stats), len(base), err)
	}
	gitIn(t, work, text, "apply", "--index", "-")
	if got := git(t, work, "write-tree"); got != c.Tree {
		t.Errorf("the patch makes tree %s, want %s; patch:\n%s", got, c.Tree, text)
	}
	for name := range base {
		if data, err := m.ReadFile(t.Context(), c.ID, name, 0); string(data) != "2\n" {
			t.Errorf("%q is %q, %v", name, data, err)
		}
	}
}

// TestRandomDiffsAndMerges compares with git on made-up texts: patches apply,
// and merges agree with git merge-file wherever that has no conflict.
func TestRandomDiffsAndMerges(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	agree := 0
	for i := range 60 {
		base := make([]string, 12+rnd.IntN(20))
		for j := range base {
			base[j] = fmt.Sprintf("line %d\n", rnd.IntN(8))
		}
		ours, theirs := mutate(rnd, base), mutate(rnd, base)
		for name, list := range map[string][]string{"base": base, "ours": ours, "theirs": theirs} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(list, "")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		patch := lines.Hunks(base, ours, lines.Compare(base, ours), 3)
		if patch != "" {
			patch = "--- a/base\n+++ b/base\n" + patch
		}
		if patch != "" {
			gitIn(t, dir, patch, "apply", "-")
			if data, _ := os.ReadFile(filepath.Join(dir, "base")); string(data) != strings.Join(ours, "") {
				t.Fatalf("case %d: the patch gives %q, want %q", i, data, strings.Join(ours, ""))
			}
			if err := os.WriteFile(filepath.Join(dir, "base"), []byte(strings.Join(base, "")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, gitErr := gitTry(t, dir, "", "merge-file", "-p", "-q", "ours", "base", "theirs")
		got, ok := lines.Merge(base, ours, theirs)
		if gitErr == nil && ok {
			agree++
			if strings.Join(got, "") != want {
				t.Errorf("case %d: merged to\n%s\ngit merged to\n%s", i, strings.Join(got, ""), want)
			}
		}
	}
	if agree < 10 {
		t.Errorf("only %d of 60 merges without conflict: the test compares too little", agree)
	}
}

func mutate(rnd *rand.Rand, base []string) []string {
	out := append([]string(nil), base...)
	for range 1 + rnd.IntN(2) {
		at := rnd.IntN(len(out))
		switch rnd.IntN(3) {
		case 0:
			out[at] = fmt.Sprintf("changed %d\n", rnd.IntN(1000))
		case 1:
			out = append(out[:at], out[at+1:]...)
		default:
			out = append(out[:at], append([]string{fmt.Sprintf("new %d\n", rnd.IntN(1000))}, out[at:]...)...)
		}
	}
	return out
}

func TestDiffOptions(t *testing.T) {
	t.Parallel()
	m, head, _, _ := seeded(t, map[string]string{"a/x": "1\n", "a/y": "1\n", "ab": "1\n", "bin": "x"})
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{
		put("a/x", "2\n"), put("a/y", "2\n"), put("ab", "2\n"), put("bin", "\x00"), put("huge", strings.Repeat("x\n", maxBytes)),
	}}))(t)
	for _, tt := range []struct {
		paths []string
		want  int
	}{{nil, 5}, {[]string{"a"}, 2}, {[]string{"a/"}, 2}, {[]string{"a/x", "ab"}, 2}, {[]string{"none"}, 0}} {
		_, stats, err := m.Diff(t.Context(), head, c.ID, DiffOptions{Paths: tt.paths})
		if err != nil || len(stats) != tt.want {
			t.Errorf("paths %q: %d files %v, want %d", tt.paths, len(stats), err, tt.want)
		}
	}
	text, stats, err := m.Diff(t.Context(), head, c.ID, DiffOptions{MaxBytes: 300})
	if err != nil || len(text) > 400 || !strings.HasSuffix(text, "# 4 more files changed, left out for size\n") || len(stats) != 5 {
		t.Errorf("cut diff: %d stats %v\n%s", len(stats), err, text)
	}
	text, _, _ = m.Diff(t.Context(), head, c.ID, DiffOptions{Paths: []string{"bin", "huge"}})
	if !strings.Contains(text, "Binary files a/bin and b/bin differ") || !strings.Contains(text, "Binary files /dev/null and b/huge differ") {
		t.Errorf("binary and huge files:\n%.500s", text)
	}
	if text, stats, err := m.Diff(t.Context(), head, head, DiffOptions{}); text != "" || len(stats) != 0 || err != nil {
		t.Errorf("diff of a commit with itself: %q %v %v", text, stats, err)
	}
}

// TestEachDiff goes file by file through what Diff gives as one, with a rename
// as what went and what came, and ends when it is told to.
func TestEachDiff(t *testing.T) {
	t.Parallel()
	m, head, _, _ := seeded(t, map[string]string{"a/x": "1\n", "a/y": "1\n2\n3\n", "ab": "1\n"})
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{
		put("a/x", "2\n"), {Path: "a/y", Delete: true}, put("z/y", "1\n2\n3\n"), put("ab", "2\n"),
	}}))(t)
	var texts, kinds []string
	all := func(text string, st FileStat) error {
		texts, kinds = append(texts, text), append(kinds, st.Kind+" "+st.Path)
		return nil
	}
	must(0, m.EachDiff(t.Context(), head, c.ID, DiffOptions{}, all))(t)
	want := []string{"modify a/x", "delete a/y", "modify ab", "create z/y"}
	if !slices.Equal(kinds, want) {
		t.Errorf("files are %q, want %q", kinds, want)
	}
	for i, p := range []string{"a/x", "a/y", "ab", "z/y"} {
		if one, _, err := m.Diff(t.Context(), head, c.ID, DiffOptions{Paths: []string{p}}); err != nil || texts[i] != one {
			t.Errorf("%s: %v\n%s\nwant\n%s", p, err, texts[i], one)
		}
	}
	enough, n := errors.New("enough"), 0
	err := m.EachDiff(t.Context(), head, c.ID, DiffOptions{Paths: []string{"a", "ab"}}, func(string, FileStat) error {
		if n++; n == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 2 {
		t.Errorf("after %d files: %v", n, err)
	}
}

// A link in the place of a directory is shown beside the files that went with the
// directory.
func TestDiffOfALinkOverADirectory(t *testing.T) {
	t.Parallel()
	m, head, _, _ := seeded(t, map[string]string{".ci/deploy.sh": "run\n", "a": "1\n"})
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{
		{Path: ".ci/deploy.sh", Delete: true}, {Path: ".ci", Symlink: true, Open: put("", "src").Open},
	}}))(t)
	for _, paths := range [][]string{{".ci", ".ci/deploy.sh"}, {".ci/deploy.sh", ".ci"}, nil} {
		text, stats, err := m.Diff(t.Context(), head, c.ID, DiffOptions{Paths: paths})
		if err != nil || len(stats) != 2 || !strings.Contains(text, "new file mode 120000") || !strings.Contains(text, "deleted file mode") {
			t.Errorf("%q: %+v, %v\n%s", paths, stats, err, text)
		}
	}
}
