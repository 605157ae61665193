package gitops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// seeded is a mirror of a repository with the given files, its head and the
// bare repository behind it.
func seeded(t *testing.T, files map[string]string) (m *Mirror, head, bare, work string) {
	t.Helper()
	r := newRemote(t)
	url, bare, work := r.repo("one", files)
	m = mirrorOf(t, url)
	_, head, err := m.Default(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m, head, bare, work
}

// lsTree lists a commit's files as git sees them.
func lsTree(t *testing.T, dir, commit string) map[string]string {
	t.Helper()
	out := git(t, dir, "ls-tree", "-r", "-z", commit)
	files := map[string]string{}
	for line := range strings.SplitSeq(out, "\x00") {
		meta, name, ok := strings.Cut(line, "\t")
		if ok {
			f := strings.Fields(meta)
			files[name] = f[0] + " " + git(t, dir, "cat-file", "blob", f[2])
		}
	}
	return files
}

func TestCheckpointMakesTheTree(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	base := map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", "dir/sub/c.txt": "c\n", "z": "z\n"}
	link := func(path, to string) Change {
		c := put(path, to)
		c.Symlink = true
		return c
	}
	exec := put("run.sh", "#!/bin/sh\n")
	exec.Exec = true
	del := func(p string) Change { return Change{Path: p, Delete: true} }
	tests := []struct {
		name    string
		changes []Change
		want    map[string]string // nil value deletes
		err     error
	}{
		{"modify and create", []Change{put("a.txt", "A\n"), put("new/deep/f", "n\n")}, map[string]string{"a.txt": "100644 A", "new/deep/f": "100644 n"}, nil},
		{"executable", []Change{exec}, map[string]string{"run.sh": "100755 #!/bin/sh"}, nil},
		{"symlinks are kept, also out of the tree", []Change{link("l", "/etc/passwd"), link("dir/up", "../../..")}, map[string]string{"l": "120000 /etc/passwd", "dir/up": "120000 ../../.."}, nil},
		{"delete a file and with it its directory", []Change{del("dir/sub/c.txt")}, map[string]string{"dir/sub/c.txt": ""}, nil},
		{"delete a directory", []Change{del("dir")}, map[string]string{"dir/b.txt": "", "dir/sub/c.txt": ""}, nil},
		{"delete what is not there", []Change{del("none/x"), put("a.txt", "A\n")}, map[string]string{"a.txt": "100644 A"}, nil},
		{"a file becomes a directory", []Change{del("z"), put("z/in", "i\n")}, map[string]string{"z": "", "z/in": "100644 i"}, nil},
		{"a file becomes a directory without being deleted first", []Change{put("z/in", "i\n")}, map[string]string{"z": "", "z/in": "100644 i"}, nil},
		{"a directory becomes a file", []Change{del("dir/b.txt"), del("dir/sub/c.txt"), put("dir", "d\n")}, map[string]string{"dir": "100644 d", "dir/b.txt": "", "dir/sub/c.txt": ""}, nil},
		{"strange names", []Change{put("ctl\x01\n\t\x7f", "1\n"), put("sp ace", "2\n"), put("ü\xff", "3\n"), put("-rf", "4\n"), put(`back\slash`, "5\n")},
			map[string]string{"ctl\x01\n\t\x7f": "100644 1", "sp ace": "100644 2", "ü\xff": "100644 3", "-rf": "100644 4", `back\slash`: "100644 5"}, nil},
		{"names that differ by case", []Change{put("A.TXT", "1\n"), put("DIR/B.txt", "2\n")}, map[string]string{"A.TXT": "100644 1", "DIR/B.txt": "100644 2"}, nil},
		{"sorting of files beside directories", []Change{put("dir.txt", "1\n"), put("dir-x", "2\n"), put("dir0", "3\n")}, map[string]string{"dir.txt": "100644 1", "dir-x": "100644 2", "dir0": "100644 3"}, nil},
		{"a file and a directory of one name", []Change{put("q", "1\n"), put("q/r", "2\n")}, nil, objects.ErrPath},
		{"climbing", []Change{put("../x", "1\n")}, nil, objects.ErrPath},
		{"absolute", []Change{put("/etc/x", "1\n")}, nil, objects.ErrPath},
		{"not clean", []Change{put("a//b", "1\n")}, nil, objects.ErrPath},
		{"NUL", []Change{put("a\x00b", "1\n")}, nil, objects.ErrPath},
	}
	m, head, _, _ := seeded(t, base)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: tt.changes, Meta: Meta{Message: "m"}})
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			want := map[string]string{}
			for p, text := range base {
				want[p] = "100644 " + strings.TrimSuffix(text, "\n")
			}
			for p, v := range tt.want {
				if want[p] = v; v == "" {
					delete(want, p)
				}
			}
			if diff := cmp.Diff(want, lsTree(t, m.dir, c.ID)); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
			if got := git(t, m.dir, "rev-parse", c.ID+"^", c.ID+"^{tree}"); got != head+"\n"+c.Tree {
				t.Errorf("parent and tree: %s", got)
			}
		})
	}
	fsck(t, m.dir)
}

func TestCheckpointLeavesGitDirectoriesOut(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, _, _ := seeded(t, map[string]string{"a": "1\n"})
	bad := []string{
		".git/config", ".git", "sub/.git/hooks/pre-commit", ".GIT/config", "x/.Git", "git~1/config", ".git /config", ".git./x",
		".git::$INDEX_ALLOCATION/config", ".g\u200cit/config", ".git\ufeff", `sub\.git\config`, ".gitmodules", ".GitModules",
	}
	good := []string{".github/x", ".gitignore", ".gitattributes", "git", "x.git", ".gitt", "sub/.gitmodules.txt"}
	var changes []Change
	for _, p := range append(slices.Clone(bad), good...) {
		changes = append(changes, put(p, "text of "+p))
	}
	c, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bad, c.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	want := append(slices.Clone(good), "a")
	slices.Sort(want)
	var got []string
	for p := range lsTree(t, m.dir, c.ID) {
		got = append(got, p)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	fsck(t, m.dir)
}

func TestCheckpointInASubmodule(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	url, _, work := r.repo("one", map[string]string{"a": "1\n"})
	git(t, work, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("ab", 20)+",lib")
	git(t, work, "commit", "-q", "-m", "submodule")
	git(t, work, "push", "-q", "origin", "main")
	m := mirrorOf(t, url)
	head := must(m.Resolve(t.Context(), "main"))(t)
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("lib/x", "1"), put("lib/d/y", "1"), put("a", "3\n")}}))(t)
	if len(c.Submodules) != 1 || c.Submodules[0] != "lib" || len(c.Files) != 1 || c.Files[0].Path != "a" {
		t.Errorf("a change in a submodule: %+v", c)
	}
	c = must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("a", "2\n")}}))(t)
	if got := git(t, m.dir, "ls-tree", c.ID, "lib"); !strings.HasPrefix(got, "160000 commit "+strings.Repeat("ab", 20)) {
		t.Errorf("the submodule after a checkpoint: %q", got)
	}
}

func TestCheckpointThatChangesNothing(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, _, _ := seeded(t, map[string]string{"a": "1\n", "b": "2\n"})
	count := func() int {
		return strings.Count(git(t, m.dir, "cat-file", "--batch-all-objects", "--batch-check"), "commit")
	}
	before := count()
	for name, changes := range map[string][]Change{
		"none":                nil,
		"same content":        {put("a", "1\n"), put("b", "2\n")},
		"delete of nothing":   {{Path: "c", Delete: true}},
		"refused path alone":  {put(".git/config", "[core]")},
		"made then unchanged": {put("a", "3\n"), put("a", "1\n")},
	} {
		c, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: changes})
		if err != nil || !c.Empty || c.ID != head {
			t.Errorf("%s: %+v %v, want an empty commit at %s", name, c, err, head)
		}
	}
	if after := count(); after != before {
		t.Errorf("%d commits were made", after-before)
	}
}

func TestCheckpointTellsWhatHappened(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line of some length\n", 30)
	m, head, _, _ := seeded(t, map[string]string{"mod": "1\n2\n3\n", "gone": "x\ny\n", "old": long, "exact": long + "x\n", "bin": "a\x00b"})
	c, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{
		put("mod", "1\nTWO\n3\n4\n"), put("new", "n"), {Path: "gone", Delete: true},
		{Path: "old", Delete: true}, put("dir/moved", long+"and one more\n"),
		{Path: "exact", Delete: true}, put("exact2", long+"x\n"), put("bin", "c\x00d"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []FileStat{
		{Path: "bin", Kind: "modify", Binary: true},
		{Path: "dir/moved", Old: "old", Kind: "rename", Added: 1},
		{Path: "exact2", Old: "exact", Kind: "rename"},
		{Path: "gone", Kind: KindDelete, Removed: 2},
		{Path: "mod", Kind: "modify", Added: 2, Removed: 1},
		{Path: "new", Kind: "create", Added: 1},
	}
	slices.SortFunc(c.Files, func(a, b FileStat) int { return strings.Compare(a.Path, b.Path) })
	entry := func(commit, path string) string { // as git has it
		f := strings.Fields(git(t, m.dir, "ls-tree", commit, path))
		if len(f) < 3 {
			return ""
		}
		return f[0] + " " + f[2]
	}
	for i, f := range c.Files {
		from := f.Path
		if f.Old != "" {
			from = f.Old
		}
		if was, is := entry(head, from), entry(c.ID, f.Path); f.Was != was || f.Object != is {
			t.Errorf("%s was %q and is %q, git says %q and %q", f.Path, f.Was, f.Object, was, is)
		}
		c.Files[i].Was, c.Files[i].Object = "", ""
	}
	if diff := cmp.Diff(want, c.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	numstat := git(t, m.dir, "diff", "--numstat", "-M", head, c.ID)
	for _, line := range []string{"2\t1\tmod", "1\t0\tnew", "0\t2\tgone", "1\t0\told => dir/moved", "-\t-\tbin"} {
		if !strings.Contains(numstat, line) {
			t.Errorf("git's numstat lacks %q:\n%s", line, numstat)
		}
	}
}

func TestCommitHeaderAndTrailers(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, _, _ := seeded(t, map[string]string{"a": "1\n"})
	c, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("a", "2\n")}, Meta: Meta{
		Message:   "Fix it\r\n\r\nBody\x00 with\x1b[31m control\n\nSession: forged\n",
		Trailers:  []Trailer{{TrailerSession, "s1\nTurn: 99"}, {TrailerTurn, "3"}, {TrailerBy, "octocat"}, {"Bad key\n", "x"}},
		Author:    Signature{"Bot <evil>\ncommitter x", "bot@example.com>\n"},
		CoAuthors: []Signature{{"Ann", "ann@example.com"}},
		When:      time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 2*3600)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := "Fix it\n\nBody with[31m control\n\nSession: forged\n\nSession: s1 Turn: 99\nTurn: 3\nRequested-by: octocat\nBadkey: x\nCo-authored-by: Ann <ann@example.com>"
	if got := git(t, m.dir, "log", "-1", "--format=%B", c.ID); got != want {
		t.Errorf("message:\n%q\nwant\n%q", got, want)
	}
	if got := git(t, m.dir, "log", "-1", "--format=%an|%ae|%cn|%ce|%aI", c.ID); got != "Bot evil committer x|bot@example.com|Bot evil committer x|bot@example.com|2026-01-02T03:04:05+02:00" {
		t.Errorf("header: %q", got)
	}
	if got := git(t, m.dir, "log", "-1", "--format=%(trailers:key=Session,valueonly)", c.ID); strings.TrimSpace(got) != "s1 Turn: 99" {
		t.Errorf("git reads the session trailer as %q", got)
	}
	log := must(history(m, "", c.ID))(t)
	if len(log) != 2 || trailerValue(log[0].Message, TrailerSession) != "s1 Turn: 99" || trailerValue(log[0].Message, TrailerTurn) != "3" || !strings.HasPrefix(log[0].Message, "Fix it\n") || log[1].Hash.String() != head {
		t.Errorf("log: %+v", log)
	}
	if log = must(history(m, head, c.ID))(t); len(log) != 1 {
		t.Errorf("log until the parent has %d entries, want 1", len(log))
	}
	fsck(t, m.dir)
}

func TestLargeFilesAndLimits(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, _, _ := seeded(t, map[string]string{"a": "1\n"})
	big := strings.Repeat("0123456789abcdef", (largeBlob+4096)/16)
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("big", big), put("lim", big[:largeBlob])}}))(t)
	if got := git(t, m.dir, "cat-file", "-s", c.ID+":big"); got != fmt.Sprint(len(big)) {
		t.Errorf("size of the large file: %s, want %d", got, len(big))
	}
	if got := must(m.ReadFile(t.Context(), c.ID, "big", 64<<20))(t); string(got) != big {
		t.Error("the large file reads back different")
	}
	if _, err := m.ReadFile(t.Context(), c.ID, "big", 100); !errors.Is(err, ErrTooLarge) {
		t.Errorf("read over the limit: %v", err)
	}
	for _, size := range []int{1001, largeBlob + 1} {
		limit := int64(size - 1)
		_, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, MaxBytes: limit, Changes: []Change{put("big", big[:size])}})
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), `"big"`) {
			t.Errorf("file of %d bytes with limit %d: %v", size, limit, err)
		}
	}
	broken := Change{Path: "x", Open: func() (io.ReadCloser, error) { return nil, os.ErrPermission }}
	if _, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{broken}}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("content that cannot be opened: %v", err)
	}
	if _, err := m.Checkpoint(t.Context(), Checkpoint{Parent: strings.Repeat("0", 39) + "1"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown parent: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Checkpoint(ctx, Checkpoint{Parent: head, Changes: []Change{put("x", "y")}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled checkpoint: %v", err)
	}
	fsck(t, m.dir)
}

// TestCheckpointCostFollowsTheChange counts objects written, which a clock
// cannot disturb: 10 files among thousands need 10 blobs, the trees on the way,
// and a commit.
func TestCheckpointCostFollowsTheChange(t *testing.T) {
	t.Parallel()
	n := 5_000
	if longtest.Long() {
		n = 50_000
	}
	m, head, _, _ := seeded(t, many(n))
	objects := func() int {
		n := 0
		for _, d := range must(filepath.Glob(filepath.Join(m.dir, "objects", "??", "*")))(t) {
			_ = d
			n++
		}
		return n
	}
	before := objects()
	start := time.Now()
	must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: tenChanges("x")}))(t)
	t.Logf("checkpoint of 10 files in %d: %v", n, time.Since(start))
	if got := objects() - before; got != 10+21+1 {
		t.Errorf("%d objects written, want 10 blobs, 1+10+10 trees and a commit", got)
	}
}

// tenChanges modifies ten files of [many] in ten directories.
func tenChanges(salt string) []Change {
	var list []Change
	for i := range 10 {
		list = append(list, put(fmt.Sprintf("d%02d/e%02d/f%05d.txt", i, 0, i), fmt.Sprintf("%s %d\n", salt, i)))
	}
	return list
}
