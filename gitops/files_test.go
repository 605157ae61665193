package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// rawTree makes a tree of raw lines in a bare repository, past git's checks,
// and commits it to main.
func rawTree(t *testing.T, bare string, lines ...string) string {
	t.Helper()
	var b strings.Builder
	for _, l := range lines { // "mode name\tid"
		meta, id, _ := strings.Cut(l, "\t")
		b.WriteString(meta)
		b.WriteByte(0)
		h := mustHash(id)
		b.Write(h[:])
	}
	tree := gitIn(t, bare, b.String(), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	return tree
}

func commitTree(t *testing.T, bare, tree string) string {
	t.Helper()
	id := git(t, bare, "commit-tree", tree, "-m", "raw")
	git(t, bare, "update-ref", "refs/heads/main", id)
	return id
}

// filesOf returns a directory with the files of a commit.
func filesOf(t testing.TB, m *Mirror, commit string) (string, error) {
	t.Helper()
	s, err := OpenBases(BasesConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Take(t.Context(), m, BaseWant{Commit: commit})
	if err != nil {
		return "", err
	}
	t.Cleanup(b.Drop)
	return b.Source, nil
}

func TestFilesOf(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("untouched"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newRemote(t)
	url, bare, _ := r.repo("one", nil)
	blob := func(text string) string { return gitIn(t, bare, text, "hash-object", "-w", "--stdin") }
	file := blob("text\n")
	evil := rawTree(t, bare, "100644 config\t"+file)
	sub := rawTree(t, bare, "100644 inner\t"+file)
	lfs := blob("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
	commitTree(t, bare, rawTree(t, bare,
		"40000 ..\t"+evil, "40000 .git\t"+evil, "40000 .GIT\t"+evil, "40000 git~1\t"+evil, "100644 .git \t"+file, "100644 .gi\u200ct\t"+file,
		"100644 a/b\t"+file, "100644 .gitattributes\t"+blob("* filter=evil\n"), "100644 .gitmodules\t"+file,
		"100755 exec\t"+file, "100664 old-mode\t"+file, "120000 link\t"+blob(outside), "120000 up\t"+blob("../../.."),
		"100644 link2\t"+file, "160000 lib\t"+strings.Repeat("ab", 20), "100644 lfs.bin\t"+lfs, "40000 dir\t"+sub, "100644 ctl\x01\n\t"+file))
	m := mirrorOf(t, url)
	dir, err := filesOf(t, m, "main")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		".gitattributes": "-rw-r--r-- * filter=evil\n", ".gitmodules": "-rw-r--r-- text\n", "exec": "-rwxr-xr-x text\n", "old-mode": "-rw-r--r-- text\n",
		"link": "link " + outside, "up": "link ../../..", "link2": "-rw-r--r-- text\n", "lib": "dir", "dir": "dir", "dir/inner": "-rw-r--r-- text\n",
		"lfs.bin": "-rw-r--r-- version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "ctl\x01\n": "-rw-r--r-- text\n",
	}
	if diff := cmp.Diff(want, onDisk(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if data, _ := os.ReadFile(outside); string(data) != "untouched" {
		t.Errorf("a file outside was changed: %q", data)
	}
}

// onDisk lists what is below a directory, following nothing.
func onDisk(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		switch {
		case d.IsDir():
			got[rel] = "dir"
		case d.Type() == os.ModeSymlink:
			to, err := os.Readlink(path)
			got[rel] = "link " + to
			return err
		default:
			info, err := d.Info()
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			got[rel] = info.Mode().String() + " " + string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestFilesFollowNoLink has a tree in which a link and a directory have
// one name, as only a hand-made tree can.
func TestFilesFollowNoLink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	r := newRemote(t)
	url, bare, _ := r.repo("one", nil)
	file := gitIn(t, bare, "evil\n", "hash-object", "-w", "--stdin")
	sub := rawTree(t, bare, "100644 planted\t"+file)
	link := gitIn(t, bare, outside, "hash-object", "-w", "--stdin")
	commitTree(t, bare, rawTree(t, bare, "120000 d\t"+link, "40000 d\t"+sub))
	m := mirrorOf(t, url)
	if _, err := filesOf(t, m, "main"); err == nil {
		t.Error("a tree with one name twice was written")
	}
	if list, _ := os.ReadDir(outside); len(list) > 0 {
		t.Errorf("written through a link: %v", list)
	}
	inside := gitIn(t, bare, "g", "hash-object", "-w", "--stdin")
	commitTree(t, bare, rawTree(t, bare, "120000 f\t"+inside, "100644 f\t"+file))
	must(0, m.Fetch(t.Context()))(t)
	if _, err := filesOf(t, m, "main"); err == nil {
		t.Error("a file was written through a link within the tree")
	}
	commitTree(t, bare, rawTree(t, bare, "120000 f\t"+gitIn(t, bare, filepath.Join(outside, "new"), "hash-object", "-w", "--stdin"), "100644 f\t"+file))
	must(0, m.Fetch(t.Context()))(t)
	if _, err := filesOf(t, m, "main"); err == nil {
		t.Error("a tree with one name twice was written")
	}
	if list, _ := os.ReadDir(outside); len(list) > 0 {
		t.Errorf("written through a link: %v", list)
	}
}

func TestFilesLimits(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	url, bare, _ := r.repo("one", many(500))
	m := mirrorOf(t, url)
	s, err := OpenBases(BasesConfig{Dir: t.TempDir(), MaxFiles: 5000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Take(ctx, m, BaseWant{Commit: "main"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// A bomb: ten levels of ten times the same tree.
	tree := gitIn(t, bare, "x", "hash-object", "-w", "--stdin")
	tree = rawTree(t, bare, "100644 f\t"+tree)
	for range 10 {
		var lines []string
		for i := range 10 {
			lines = append(lines, fmt.Sprintf("40000 d%d\t%s", i, tree))
		}
		tree = rawTree(t, bare, lines...)
	}
	bomb := commitTree(t, bare, tree)
	must(0, m.Fetch(t.Context()))(t)
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Minute) // it would take for ever
	defer cancel()
	if _, err := s.Take(ctx, m, BaseWant{Commit: bomb}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("bomb: %v", err)
	}
	if _, err := s.Find(ctx, m, bomb, "x"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file in a bomb: %v", err)
	}
	if _, err := m.List(t.Context(), bomb, "", true); !errors.Is(err, ErrTooLarge) {
		t.Errorf("list of a bomb: %v", err)
	}
}

func TestReadFiles(t *testing.T) {
	t.Parallel()
	files := many(50)
	m, _, _, _ := seeded(t, files)
	dir := must(filesOf(t, m, "main"))(t)
	for path, text := range files {
		if data, err := os.ReadFile(filepath.Join(dir, path)); string(data) != text || err != nil {
			t.Errorf("%s: %q %v, want %q", path, data, err, text)
		}
	}
	list := must(m.List(t.Context(), "main", "", true))(t)
	if len(list) != len(files) || list[0].Kind != "file" || files[list[0].Path] == "" {
		t.Errorf("list has %d entries, want %d: %+v", len(list), len(files), list[0])
	}
	top := must(m.List(t.Context(), "main", "d01", false))(t)
	if len(top) == 0 || top[0].Kind != IsDir || !strings.HasPrefix(top[0].Path, "d01/e") {
		t.Errorf("list of a directory: %+v", top)
	}
	for _, path := range []string{"nope", "d01/nope", "../x"} {
		if _, err := m.ReadFile(t.Context(), "main", path, 0); !errors.Is(err, ErrNotFound) && !errors.Is(err, objects.ErrPath) {
			t.Errorf("read %q: %v", path, err)
		}
	}
	if _, err := m.ReadFile(t.Context(), "main", "d01", 0); err == nil {
		t.Error("a directory was read as a file")
	}
}
