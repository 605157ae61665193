package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestAttributesOfACommit: contents are committed as the .gitattributes files of the result
// ask, also if one of them is a part of the change.
func TestAttributesOfACommit(t *testing.T) {
	t.Parallel()
	dir, head := clone(t, map[string]string{".gitattributes": "* text=auto\n*.raw -text\n", "was.txt": "1\n2\n", "d/x": "x\n"})
	m := must(OpenLocal(dir))(t)
	t.Cleanup(func() { _ = m.Close() })
	link := put("link", "a\r\nb")
	link.Symlink = true
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{
		put("was.txt", "1\r\n2\r\n"), put("new.txt", "n\r\n"), put("a.raw", "r\r\n"), put("bin", "\x00\r\n"), link,
		put("d/.gitattributes", "*.txt -text\n"), put("d/in.txt", "d\r\n"), put("d/e/in.txt", "e\r\n"),
	}}))(t)
	for name, want := range map[string]string{"was.txt": "1\n2", "new.txt": "n", "a.raw": "r\r", "bin": "\x00\r", "link": "a\r\nb", "d/in.txt": "d\r", "d/e/in.txt": "e\r"} {
		if got := git(t, dir, "cat-file", "blob", c.ID+":"+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	// The file is gone in the next change, and with it what it said.
	c = must(m.Checkpoint(t.Context(), Checkpoint{Parent: c.ID, Changes: []Change{{Path: "d/.gitattributes", Delete: true}, put("d/more.txt", "m\r\n"), put("d/in.txt", "d\r\nd\r\n")}}))(t)
	for name, want := range map[string]string{"d/more.txt": "m", "d/in.txt": "d\r\nd\r"} { // what was committed with CRLF keeps it
		if got := git(t, dir, "cat-file", "blob", c.ID+":"+name); got != want {
			t.Errorf("then %s is %q, want %q", name, got, want)
		}
	}
}

// TestLFS: in a local clone a content goes to the storage of Git LFS, and its pointer to the
// commit; a mirror has no such storage, and says so.
func TestLFS(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const attributes = "*.png filter=lfs diff=lfs merge=lfs -text\n"
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	dir, head := clone(t, map[string]string{".gitattributes": attributes, "a.png": pointer})
	m := must(OpenLocal(dir))(t)
	t.Cleanup(func() { _ = m.Close() })
	big := strings.Repeat("picture", 3000)
	changes := []Change{put("a.png", big), put("b.png", pointer+"\n"), put("c.png", ""), put("d.txt", "plain\n")}
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: changes}))(t)
	got := git(t, dir, "cat-file", "blob", c.ID+":a.png")
	oid := strings.TrimPrefix(strings.Split(got, "\n")[1], "oid sha256:")
	if !isPointer([]byte(got+"\n")) || !strings.HasSuffix(got, "\nsize 21000") || len(c.LFS) != 1 || c.LFS[0] != "a.png" {
		t.Errorf("a.png is %q; in LFS: %q", got, c.LFS)
	}
	for _, where := range []string{"lfs", "elsewhere"} {
		data, err := os.ReadFile(filepath.Join(dir, ".git", where, "objects", oid[:2], oid[2:4], oid))
		if err != nil || string(data) != big {
			t.Errorf("%s has %d bytes, %v", where, len(data), err)
		}
		git(t, dir, "config", "lfs.storage", "elsewhere")
		must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: changes}))(t)
	}
	if left := must(filepath.Glob(filepath.Join(dir, ".git", "*", "tmp", "*")))(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	for name, want := range map[string]string{"b.png": pointer, "c.png": "", "d.txt": "plain"} {
		if got := git(t, dir, "cat-file", "blob", c.ID+":"+name); got != strings.TrimRight(want, "\n") {
			t.Errorf("%s is %q", name, got)
		}
	}

	remote, head, _, _ := seeded(t, map[string]string{".gitattributes": attributes, "a.png": pointer})
	_, err := remote.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: changes})
	if un := new(Unstorable); !errors.As(err, &un) || !strings.Contains(un.Why, "Git LFS") {
		t.Errorf("a mirror: %v", err)
	}
	c = must(remote.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: changes, Skip: func(error) bool { return true }}))(t)
	if len(c.LeftOut) != 1 || c.LeftOut[0].Path != "a.png" || len(c.Files) != 3 {
		t.Errorf("left out: %v; changed: %v", c.LeftOut, c.Files)
	}
}

// TestEncryptedFiles: what a filter would encrypt is never committed as it is.
func TestEncryptedFiles(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, bare, _ := seeded(t, map[string]string{".gitattributes": "secret/** filter=git-crypt diff=git-crypt\n*.nb filter=strip\n", "secret/a": "\x00GITCRYPT\x00cipher\n", "old": "known\n"})
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Skip: func(error) bool { return true }, Changes: []Change{
		put("secret/a", "password\n"), put("secret/moved", "\x00GITCRYPT\x00cipher\n"), put("x.nb", "as it is\n"),
	}}))(t)
	if len(c.LeftOut) != 1 || c.LeftOut[0].Path != "secret/a" || !strings.Contains(c.LeftOut[0].Err.Error(), "encrypted") {
		t.Errorf("left out: %v", c.LeftOut)
	}
	must(0, m.Push(t.Context(), Push{Commit: c.ID, Ref: "refs/heads/x"}))(t)
	if tree := lsTree(t, bare, c.ID); tree["secret/moved"] == "" || tree["x.nb"] == "" || tree["secret/a"] != tree["secret/moved"] {
		t.Errorf("the commit has %v", tree)
	}
}

// TestPushSafeInAClone: the branch of a local clone takes work in as a remote's does.
func TestPushSafeInAClone(t *testing.T) {
	t.Parallel()
	const ref = "refs/heads/agent/x"
	meta := Meta{Message: "ours", Trailers: []Trailer{{TrailerSession, "s1"}}}
	for name, tt := range map[string]struct {
		theirs  map[string]string
		rewrite bool // instead of the session's first commit
		how     string
		ref     string
		want    map[string]string
	}{
		"as it was": {how: HowPushed, ref: ref, want: map[string]string{"one": "1", "two": "2"}},
		"added":     {theirs: map[string]string{"t": "t\n"}, how: howRebased, ref: ref, want: map[string]string{"one": "1", "two": "2", "t": "t"}},
		"amended":   {theirs: map[string]string{"one": "theirs\n"}, rewrite: true, how: howRebased, ref: ref, want: map[string]string{"one": "theirs", "two": "2"}},
		"same line": {theirs: map[string]string{"two": "theirs\n"}, how: howFallback, ref: ref + "-2", want: map[string]string{"one": "1", "two": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, head := clone(t, map[string]string{"a": "1\n"})
			m := must(OpenLocal(dir))(t)
			t.Cleanup(func() { _ = m.Close() })
			first := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("one", "1\n")}, Meta: meta}))(t)
			must(0, m.SetRef(t.Context(), ref, first.ID, ""))(t)
			second := must(m.Checkpoint(t.Context(), Checkpoint{Parent: first.ID, Changes: []Change{put("two", "2\n")}, Meta: meta}))(t)
			if len(tt.theirs) > 0 {
				from := first.ID
				if tt.rewrite {
					from = head
				}
				git(t, dir, "switch", "-q", "--detach", from)
				now := commitFiles(t, dir, "theirs", tt.theirs)
				git(t, dir, "update-ref", ref, now)
				git(t, dir, "switch", "-q", "main")
			}
			got, err := m.PushSafe(t.Context(), SafePush{Commit: second.ID, Base: first.ID, Ref: ref, Origin: head, Session: "s1", Exists: true})
			if err != nil || got.How != tt.how || got.Ref != tt.ref {
				t.Fatalf("%+v, %v", got, err)
			}
			checkRemote(t, dir, got, tt.want)
		})
	}
}

// TestAlternates: what a clone borrows is found, and its packs are opened once, however many
// objects are read.
func TestAlternates(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	full, _ := clone(t, many(300))
	git(t, full, "gc", "-q")
	far := filepath.Join(t.TempDir(), "far")
	git(t, t.TempDir(), "clone", "-q", "--shared", full, far)
	commitFiles(t, far, "in between", map[string]string{"between": "b\n"})
	dir := filepath.Join(t.TempDir(), "shared")
	git(t, t.TempDir(), "clone", "-q", "--shared", far, dir)
	head := commitFiles(t, dir, "own", map[string]string{"own": "o\n"})
	m := must(OpenLocal(dir))(t)
	t.Cleanup(func() { _ = m.Close() })
	first := git(t, dir, "rev-parse", "HEAD~2")
	if id, err := m.Resolve(t.Context(), first[:12]); id != first || err != nil {
		t.Errorf("%s is %s, %v", first[:12], id, err)
	}
	if err := m.SetRef(t.Context(), "refs/heads/main2", head, ""); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "update-ref", "refs/heads/taken", first)
	if err := m.SetRef(t.Context(), "refs/heads/taken", head, ""); !errors.Is(err, ErrStale) {
		t.Errorf("a branch whose commit is borrowed: %v", err)
	}
	if text := must(m.ReadFile(t.Context(), head, "d00/e00/f00000.txt", 100))(t); string(text) != "file 0\n" {
		t.Errorf("read %q", text)
	}
	for _, idx := range must(filepath.Glob(filepath.Join(full, ".git/objects/pack/*.idx")))(t) {
		must(0, os.Remove(idx))(t)
	}
	for name, want := range map[string]string{"d01/e00/f00001.txt": "file 1\n", "between": "b\n", "own": "o\n"} {
		if text, err := m.ReadFile(t.Context(), head, name, 100); string(text) != want || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestBranchInTheWayInAClone: in a local clone, too, the work goes to a name without directories.
func TestBranchInTheWayInAClone(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][][]string{
		"above":  {{"branch", "agent"}},
		"below":  {{"branch", "agent/x/y"}},
		"packed": {{"branch", "agent/x/y"}, {"pack-refs", "--all"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, head := clone(t, map[string]string{"a": "1\n"})
			m := must(OpenLocal(dir))(t)
			t.Cleanup(func() { _ = m.Close() })
			for _, line := range lines {
				git(t, dir, line...)
			}
			id := checkpointOn(t, m, head, "n", "n\n")
			got, err := m.PushSafe(t.Context(), SafePush{Commit: id, Base: head, Ref: "refs/heads/agent/x"})
			if err != nil || got.Ref != "refs/heads/agent-x" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
