package base

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// repo is a clone that a test commits to.
type repo struct {
	t   testing.TB
	dir string
	m   clone
}

// clone is a repository that is named by ids alone.
type clone struct{ pool *objects.Pool }

func (clone) Resolve(_ context.Context, id string) (string, error) { return id, nil }
func (c clone) Objects() *objects.Pool                             { return c.pool }

func openClone(dir string) clone { return clone{objects.NewPool(filepath.Join(dir, ".git"))} }

func refused(name string) bool {
	return name == ".." || strings.EqualFold(name, ".git") || strings.Contains(name, "/")
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	r := &repo{t: t, dir: t.TempDir()}
	r.git("", "init", "-q", "-b", "main")
	r.m = openClone(r.dir)
	t.Cleanup(r.m.pool.Renew)
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *repo) git(in string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(in)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// tree is files by path: a content of "-> a" is a link to a, a name that ends in "!" is
// of one that can be executed, and a content of "submodule" is one.
type tree map[string]string

// commit makes a commit of a whole tree.
func (r *repo) commit(files tree) string {
	r.t.Helper()
	var in strings.Builder
	in.WriteString("commit refs/heads/made\nmark :1\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nx\ndeleteall\n")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mode, text := "100644", files[name]
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			mode, text = "120000", to
		}
		path, ok := strings.CutSuffix(name, "!")
		if ok {
			mode = "100755"
		}
		path = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path)
		if text == "submodule" {
			fmt.Fprintf(&in, "M 160000 %s \"%s\"\n", strings.Repeat("ab", 20), path)
			continue
		}
		fmt.Fprintf(&in, "M %s inline \"%s\"\ndata %d\n%s\n", mode, path, len(text), text)
	}
	in.WriteString("get-mark :1\n")
	id := r.git(in.String(), "fast-import", "--quiet", "--force")
	r.m.pool.Renew() // it has packs that git made
	return id
}

// with returns a tree with changes; an empty content takes a path away.
func (t tree) with(changes tree) tree {
	out := maps.Clone(t)
	for name, text := range changes {
		if out[name] = text; text == "" {
			delete(out, name)
		}
	}
	return out
}

func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(Config{Dir: dir, UID: 65532, GID: 65532, Refused: refused})
	must(t, err)
	return s
}

func (r *repo) take(s *Store, w Want) *Base {
	r.t.Helper()
	b, err := s.Take(r.t.Context(), r.m, w)
	must(r.t, err)
	return b
}

// seen returns the files of a base as an overlay shows them. Directories without a
// file end in a slash.
func seen(t testing.TB, b *Base) tree {
	t.Helper()
	out := tree{}
	for _, dir := range []string{b.Source, b.Over} {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
			if err != nil || at == dir {
				return err
			}
			name, _ := filepath.Rel(dir, at)
			for old := range out { // what it takes the place of
				if !d.IsDir() && strings.HasPrefix(old, name+"/") || strings.TrimSuffix(old, "!") == name || old == name+"/" && !d.IsDir() {
					delete(out, old)
				}
			}
			delete(out, filepath.Dir(name)+"/")
			info, err := d.Info()
			if err != nil {
				return err
			}
			switch {
			case d.IsDir():
				if !slices.ContainsFunc(slices.Collect(maps.Keys(out)), func(old string) bool { return strings.HasPrefix(old, name+"/") }) {
					out[name+"/"] = ""
				}
			case d.Type() == fs.ModeSymlink:
				to, err := os.Readlink(at)
				out[name] = "-> " + to
				return err
			case d.Type()&fs.ModeCharDevice != 0:
				if dir := filepath.Dir(name); dir != "." && !slices.ContainsFunc(slices.Collect(maps.Keys(out)), func(old string) bool { return strings.HasPrefix(old, dir+"/") }) {
					out[dir+"/"] = ""
				}
			default:
				text, err := os.ReadFile(at)
				if info.Mode().Perm() == 0o755 {
					name += "!"
				}
				out[name] = string(text)
				return err
			}
			return nil
		})
		must(t, err)
	}
	return out
}

func wantSeen(t testing.TB, b *Base, want tree) {
	t.Helper()
	want = maps.Clone(want)
	for name, text := range want {
		if text == "submodule" {
			delete(want, name)
			want[name+"/"] = ""
		}
	}
	if diff := cmp.Diff(want, seen(t, b)); diff != "" {
		t.Errorf("base (-want +got):\n%s", diff)
	}
}

// start is a tree with everything odd in it.
var start = tree{
	"a.txt": "a\n", "exec!": "#!/bin/sh\n", "d/e/f.txt": "f\n", "d/e/g.txt": "g\n", "d/same.txt": "a\n", "same!": "a\n",
	"link": "-> d/e/f.txt", "outside": "-> /etc/passwd", "up": "-> ../../..", "lib": "submodule", "ctl\x01\n\"'\\:,é": "odd\n", "empty": " ", "x/y/z": "z\n",
	"lfs.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", ".gitattributes": "* filter=lfs eol=crlf\n",
}

var edits = map[string]tree{
	"nothing":             {},
	"change":              {"a.txt": "b\n", "d/e/f.txt": "F\n"},
	"new":                 {"n/e/w.txt": "w\n", "d/new": "n\n"},
	"gone":                {"a.txt": "", "d/e/f.txt": "", "link": ""},
	"directory gone":      {"d/e/f.txt": "", "d/e/g.txt": ""},
	"exec":                {"exec!": "", "exec": "#!/bin/sh\n", "same!": "", "same": "a\n"},
	"file to directory":   {"a.txt": "", "a.txt/b": "b\n"},
	"directory to file":   {"x/y/z": "", "x": "x\n"},
	"directory to link":   {"x/y/z": "", "x": "-> d"},
	"link to directory":   {"link": "", "link/in": "in\n"},
	"link elsewhere":      {"outside": "-> /etc/shadow"},
	"submodule to files":  {"lib": "", "lib/a": "a\n"},
	"submodule goes":      {"lib": ""},
	"files to submodule":  {"x/y/z": "", "x": "submodule"},
	"submodule from file": {"a.txt": "submodule"},
	"odd name":            {"ctl\x01\n\"'\\:,é": "odder\n", "\xff\xfe": "bytes\n"},
}

// What a base shows is what the commit has, whole or over another.
func TestBase(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRepo(t)
	first := r.commit(start)
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			b := r.take(s, Want{Commit: first, Layers: true})
			wantSeen(t, b, start)
			b.Drop()
			second := r.commit(start.with(edit))
			over := r.take(s, Want{Commit: second, Layers: true})
			defer over.Drop()
			if name != "nothing" && (over.Over == "" || over.Source == "") {
				t.Errorf("it is no layer: %+v", over)
			}
			whole := r.take(s, Want{Commit: second})
			defer whole.Drop()
			if name != "nothing" && (whole.Over != "" || whole.Source == over.Source) {
				t.Errorf("it is not whole: %+v", whole)
			}
			wantSeen(t, over, start.with(edit))
			wantSeen(t, whole, start.with(edit))
		})
	}
	none := r.take(openStore(t, t.TempDir()), Want{Layers: true})
	wantSeen(t, none, tree{})
}

// A base outlives the process, contents are kept once, and no two files of a tree are one.
func TestShared(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	dir := t.TempDir()
	first, second := r.commit(start), r.commit(start.with(tree{"a.txt": "b\n", "new": "new\n"}))
	store := openStore(t, dir)
	bytes := func() int64 {
		total, err := store.prune()
		must(t, err)
		return total
	}
	one := r.take(store, Want{Commit: first})
	pool, err := os.ReadDir(store.at("pool"))
	must(t, err)
	if len(pool) > 0 {
		t.Error("the first base waited until its contents were shared")
	}
	before := bytes()
	two := r.take(openStore(t, dir), Want{Commit: second})
	again := r.take(openStore(t, dir), Want{Commit: first})
	if again.Source != one.Source || two.Source == one.Source {
		t.Errorf("bases are at %s, %s and %s", one.Source, two.Source, again.Source)
	}
	if got, want := bytes()-before, int64(len("b\n")+len("new\n")); before == 0 || got != want {
		t.Errorf("the second base is %d bytes more than the %d of the first, want %d", got, before, want)
	}
	ino := func(name string) uint64 {
		var st syscall.Stat_t
		must(t, syscall.Lstat(name, &st))
		return st.Ino
	}
	if ino(one.Source+"/d/e/f.txt") != ino(two.Source+"/d/e/f.txt") {
		t.Error("a content is there twice")
	}
	if ino(one.Source+"/a.txt") == ino(one.Source+"/d/same.txt") || ino(one.Source+"/a.txt") == ino(one.Source+"/same") {
		t.Error("two files of one tree are one")
	}
	if ino(one.Source+"/d/same.txt") == ino(two.Source+"/d/same.txt") { // the first of its content there
		t.Log("shared by content")
	}
}

// What is damaged is noticed and made anew, from contents that were not.
func TestDamaged(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	damages := map[string]func(dir string) error{
		"overwritten": func(dir string) error {
			return os.WriteFile(dir+"/a.txt", []byte("damaged, and of another length\n"), 0o644)
		},
		"same length": func(dir string) error { return os.WriteFile(dir+"/a.txt", []byte("x\n"), 0o644) },
		"cut off":     func(dir string) error { return os.Truncate(dir+"/d/e/f.txt", 0) },
		"gone":        func(dir string) error { return os.Remove(dir + "/d/e/f.txt") },
		"more":        func(dir string) error { return os.WriteFile(dir+"/d/more", nil, 0o644) },
		"mode":        func(dir string) error { return os.Chmod(dir+"/exec", 0o644) },
		"all gone":    os.RemoveAll,
		"link":        func(dir string) error { return errors.Join(os.Remove(dir+"/link"), os.Symlink("/etc", dir+"/link")) },
		"no list":     func(dir string) error { return os.Remove(filepath.Dir(dir) + "/list") },
		"half a list": func(dir string) error { return os.Truncate(filepath.Dir(dir)+"/list", 45) },
		"no about":    func(dir string) error { return os.Truncate(filepath.Dir(dir)+"/about", 1) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			s := openStore(t, t.TempDir())
			first := r.commit(start)
			b := r.take(s, Want{Commit: first, Layers: true})
			must(t, damage(b.Source))
			again := r.take(openStore(t, filepath.Dir(s.cfg.Dir)), Want{Commit: first, Layers: true})
			wantSeen(t, again, start)
			edited := start.with(tree{"new": "n\n", "a.txt": ""})
			layer := r.take(s, Want{Commit: r.commit(edited), Layers: true})
			b.Drop()
			again.Drop()
			must(t, os.WriteFile(layer.Over+"/new", []byte("damaged\n"), 0o644))
			layer.Drop()
			layer = r.take(s, Want{Commit: r.commit(edited), Layers: true})
			wantSeen(t, layer, edited)
			must(t, damage(layer.Source))
			layer.Drop()
			wantSeen(t, r.take(s, Want{Commit: r.commit(edited), Layers: true}), edited)
		})
	}
}

// At the file system's limit of links a content gets a second copy.
func TestLimitOfLinks(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	s.link = func(from, to string) error {
		var st syscall.Stat_t
		if err := syscall.Lstat(from, &st); err == nil && st.Nlink >= 3 {
			return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EMLINK}
		}
		return os.Link(from, to)
	}
	copies := map[uint64]int{}
	for i := range 7 {
		files := start.with(tree{"n": fmt.Sprint(i)})
		b := r.take(s, Want{Commit: r.commit(files)})
		wantSeen(t, b, files)
		var st syscall.Stat_t
		must(t, syscall.Lstat(b.Source+"/d/e/f.txt", &st))
		copies[st.Ino]++
	}
	if len(copies) != 4 {
		t.Errorf("7 trees have copies of a content like this: %v, want 4 of them", copies)
	}
}

// Where there can be no links at all, trees are whole all the same.
func TestNoLinks(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	s.link = func(string, string) error { return syscall.EPERM }
	b := r.take(s, Want{Commit: r.commit(start)})
	wantSeen(t, b, start)
}

func TestMissing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	commit := r.commit(start)
	blob := r.git("", "rev-parse", commit+":d/e/f.txt")
	must(t, os.Remove(filepath.Join(r.dir, ".git/objects", blob[:2], blob[2:])))
	if _, err := s.Take(t.Context(), r.m, Want{Commit: commit}); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("a commit without a blob: %v", err)
	}
	if list, err := os.ReadDir(s.at("bases")); err != nil || len(list) > 0 {
		t.Errorf("half a base is there: %v, %v", list, err)
	}
	if list, err := os.ReadDir(s.at("making")); err != nil || len(list) > 0 {
		t.Errorf("half a base is left: %v, %v", list, err)
	}
}

// What is used the longest ago goes first, by age and by size, and nothing in use.
func TestSweep(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	text := func(i int) tree { return tree{"a": strings.Repeat(fmt.Sprint(i), 1000), "same": "same\n"} }
	var bases []*Base
	var dirs []string
	for i := range 5 {
		b := r.take(s, Want{Commit: r.commit(text(i))})
		must(t, os.Chtimes(b.locks[0].Name(), time.Time{}, time.Now().Add(time.Duration(i-10)*time.Hour)))
		bases, dirs = append(bases, b), append(dirs, b.Source)
	}
	for i, b := range bases {
		if i != 1 {
			b.unlock()
		}
	}
	defer bases[1].unlock()
	there := func() (out string) {
		for _, dir := range dirs {
			_, err := os.Stat(dir)
			out += map[bool]string{true: "x", false: "."}[err == nil]
		}
		return out
	}
	for _, c := range []struct {
		size int64
		age  time.Duration
		want string
	}{
		{1 << 20, 48 * time.Hour, "xxxxx"},
		{1 << 20, 9*time.Hour + 30*time.Minute, ".xxxx"},
		{3100, 48 * time.Hour, ".x.xx"},
		{10, time.Second, ".x..."},
	} {
		s.cfg.MaxBytes, s.cfg.MaxAge = c.size, 100*time.Hour
		must(t, s.RemoveUnused(c.age))
		if got := there(); got != c.want {
			t.Errorf("of %d bytes and %s there is %s, want %s", c.size, c.age, got, c.want)
		}
	}
	total, err := s.prune()
	if must(t, err); total != 1000+5 {
		t.Errorf("%d bytes stay, want 1005", total)
	}
}
