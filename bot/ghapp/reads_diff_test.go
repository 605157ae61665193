package ghapp_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestReadFilesAndDiff(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := t.Context()
	w := newWorld(t)
	_, err := w.gh.Push(repo, "fix", "kim", map[string]string{"a b.txt": "+++ b/x\n--- a/y\n", "ü.txt": "x\n", "z.txt": strings.Repeat("a line\n", 1000)})
	must(t, err)
	files, err := reads.Files(ctx, w.client, w.pull, 3)
	must(t, err)
	if files.Total != 4 || files.Additions != 1004 || files.Deletions != 1 || len(files.List) != 3 {
		t.Fatalf("files = %+v", files)
	}
	if f := files.List[1]; f.Path != "src/a.go" || f.Status != "modified" || f.Additions != 1 || f.Deletions != 1 || !strings.HasPrefix(f.Patch, "@@ -1,3 +1,3 @@") {
		t.Errorf("file = %+v", f)
	}
	type brief struct {
		Path      string
		Add, Del  int
		Cut, Left bool
	}
	briefs := func(d reads.Diff) (out []brief) {
		for _, f := range d.Files {
			out = append(out, brief{f.Path, f.Additions, f.Deletions, f.Cut, false})
		}
		for _, f := range d.Left {
			if f.Patch != "" {
				t.Errorf("%s was left out with a patch", f.Path)
			}
			out = append(out, brief{f.Path, f.Additions, f.Deletions, f.Cut, true})
		}
		return out
	}
	for _, c := range []struct {
		most int
		want []brief
	}{
		{1 << 20, []brief{{"a b.txt", 2, 0, false, false}, {"src/a.go", 1, 1, false, false}, {"z.txt", 1000, 0, false, false}, {"ü.txt", 1, 0, false, false}}},
		{2000, []brief{{"a b.txt", 2, 0, false, false}, {"src/a.go", 1, 1, false, false}, {"ü.txt", 1, 0, false, false}, {"z.txt", 1000, 0, false, true}}},
		{100, []brief{{"a b.txt", 2, 0, true, false}, {"src/a.go", 1, 1, false, true}, {"z.txt", 1000, 0, false, true}, {"ü.txt", 1, 0, false, true}}},
		{0, []brief{{"a b.txt", 2, 0, false, true}, {"src/a.go", 1, 1, false, true}, {"z.txt", 1000, 0, false, true}, {"ü.txt", 1, 0, false, true}}},
	} {
		got, err := reads.PullDiff(ctx, w.client, w.pull, c.most, nil)
		must(t, err)
		if diff := cmp.Diff(c.want, briefs(got)); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", c.most, diff)
		}
		size := 0
		for _, f := range got.Files {
			size += len(f.Patch)
		}
		if size > c.most {
			t.Errorf("%d bytes: the patches have %d", c.most, size)
		}
	}
	_, err = w.gh.Push(repo, "fix", "kim", map[string]string{"z.txt": strings.Repeat("a line\n", 30_000)})
	must(t, err)
	got, err := reads.PullDiff(ctx, w.client, w.pull, 2000, nil)
	must(t, err)
	if len(got.Files) != 3 || len(got.Left) != 1 || got.Left[0].Path != "z.txt" {
		t.Errorf("a diff that GitHub does not make: %+v", briefs(got))
	}
}

// TestDiffNames: the files of a diff are those that GitHub lists, however they are
// called and whatever they hold.
func TestDiffNames(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := t.Context()
	w := newWorld(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b/", " ", "\t", "ü", "\\", " b/", "a/", "->", "=>", "diff --git ", "x.go", "🙂", "'", "@@ ", "{", "}"}
	lines := []string{"diff --git a/x b/x\n", "--- a/x\n", "+++ b/x\n", "@@ -1 +1 @@\n", "rename to y\n", "\r\n", "plain\n", "no end", "-- x\n", "++ y\n"}
	files := map[string]string{}
	for len(files) < 60 {
		var name string
		for range 1 + rnd.IntN(5) {
			name += parts[rnd.IntN(len(parts))]
		}
		name = fmt.Sprintf("d%d/", len(files)) + strings.Trim(strings.ReplaceAll(name, "//", "/"), "/")
		if !fs.ValidPath(name) || strings.HasSuffix(name, "/") {
			continue
		}
		for range rnd.IntN(6) {
			files[name] += lines[rnd.IntN(len(lines))]
		}
		files[name] += ""
	}
	_, err := w.gh.Push(repo, "fix", "kim", files)
	must(t, err)
	for name := range files {
		files[name] += "diff --git a/more b/more\n"
	}
	for _, round := range []string{"added", "changed"} {
		listed, err := reads.Files(ctx, w.client, w.pull, 1000)
		must(t, err)
		diff, err := reads.PullDiff(ctx, w.client, w.pull, 1<<20, nil)
		must(t, err)
		brief := func(list []reads.File) (out []string) {
			for _, f := range list {
				out = append(out, fmt.Sprintf("%q %q +%d -%d", f.Path, f.Previous, f.Additions, f.Deletions))
			}
			slices.Sort(out)
			return out
		}
		if d := cmp.Diff(brief(listed.List), brief(diff.Files)); d != "" || len(listed.List) < 60 {
			t.Errorf("%s: %d files (-listed +in the diff):\n%s", round, len(listed.List), d)
		}
		_, err = w.gh.Push(repo, "fix", "kim", files)
		must(t, err)
	}
}
