package base

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// inside is a repository as a workspace has it.
type inside struct {
	*repo
}

// open makes the repository of a past, with the files that are in the base.
func (r *repo) open(s *Store, p Past) inside {
	r.t.Helper()
	dir, objects := r.t.TempDir(), filepath.Join(r.t.TempDir(), "o")
	p.Files, p.Objects = filepath.Join(dir, ".git"), objects
	must(r.t, os.Mkdir(p.Files, 0o755))
	must(r.t, os.Mkdir(p.Objects, 0o755))
	must(r.t, s.WritePast(r.t.Context(), r.m, p))
	for _, name := range []string{"objects/info", "objects/pack", "refs/heads"} {
		must(r.t, os.MkdirAll(filepath.Join(p.Files, name), 0o755))
	}
	must(r.t, os.WriteFile(filepath.Join(p.Files, "objects/info/alternates"), []byte(objects+"\n"), 0o644))
	b := r.take(s, Want{Commit: p.Commit, Rules: p.Rules})
	defer b.Drop()
	if b.Source != "" {
		out, err := exec.CommandContext(r.t.Context(), "cp", "-r", "--no-dereference", "--preserve=mode,timestamps", b.Source+"/.", dir).CombinedOutput()
		if err != nil {
			r.t.Fatalf("%v: %s", err, out)
		}
	}
	in := *r
	in.dir = dir
	in.git("", "fsck", "--full", "--strict")
	if got := in.git("", "status", "--porcelain"); got != "" {
		r.t.Errorf("a fresh workspace differs from its commit:\n%s", got)
	}
	return inside{&in}
}

// objects lists all that git can read, with their types.
func (in inside) objects() []string {
	out := in.git("", "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
	return slices.Sorted(strings.Lines(out + "\n"))
}

// reachable lists what a commit and those before it are made of, in the repository.
func (r *repo) reachable(commits ...string) []string {
	ids := r.git("", append([]string{"rev-list", "--objects", "--no-object-names"}, commits...)...)
	out := r.git(ids+"\n", "cat-file", "--batch-check=%(objectname) %(objecttype)")
	return slices.Compact(slices.Sorted(strings.Lines(out + "\n")))
}

// branch makes a branch with commits on another and returns its last commit.
func (r *repo) branch(name, from string, files ...tree) string {
	r.t.Helper()
	r.git("", "checkout", "-q", "-f", "-B", name, from)
	for i, t := range files {
		r.put(t)
		r.git("", "add", "-A", "-f")
		r.git("", "commit", "-q", "--allow-empty", "-m", fmt.Sprintf("%s %d", name, i))
	}
	r.m.pool.Renew()
	return r.git("", "rev-parse", "HEAD")
}

func (r *repo) put(files tree) {
	r.t.Helper()
	for name, text := range files {
		at := filepath.Join(r.dir, name)
		must(r.t, os.MkdirAll(filepath.Dir(at), 0o755))
		if text == "" {
			must(r.t, os.Remove(at))
			continue
		}
		must(r.t, os.WriteFile(at, []byte(text), 0o644))
	}
}

// start makes a branch main.
func (r *repo) start(files ...tree) string {
	r.t.Helper()
	r.git("", "commit", "-q", "--allow-empty", "-m", "root")
	return r.branch("main", "HEAD", files...)
}

// Git inside shows what it would in a clone of that one branch, and nothing of others.
func TestPast(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	parted := r.start(tree{"a.txt": "one\ntwo\n", "d/b.txt": "b\n", "run.sh": "x\n"}, tree{"a.txt": "one\n2\n"})
	r.branch("other", parted, tree{"other.txt": "nobody sees this\n"})
	main := r.branch("main", parted, tree{"main.txt": "after they parted\n"})
	head := r.branch("topic", parted, tree{"a.txt": "one\n2\nthree\n", "d/b.txt": ""}, tree{"new/c.txt": "c\n"})

	in := r.open(s, Past{Want: Want{Commit: head}, Branch: "agent/1-topic", Main: "main", MainAt: main})
	for _, c := range []struct{ args, want string }{
		{"log --format=%s", "topic 1\ntopic 0\nmain 1\nmain 0\nroot"},
		{"rev-parse HEAD", head},
		{"rev-parse main origin/main", parted + "\n" + parted},
		{"symbolic-ref --short HEAD", "agent/1-topic"},
		{"diff --name-status main...HEAD", "M\ta.txt\nD\td/b.txt\nA\tnew/c.txt"},
		{"diff --stat HEAD~1", " new/c.txt | 1 +\n 1 file changed, 1 insertion(+)"},
		{"show HEAD~2:a.txt", "one\n2"},
		{"log --oneline main..HEAD --format=%s", "topic 1\ntopic 0"},
		{"branch --all --format=%(refname)", "refs/heads/agent/1-topic\nrefs/heads/main\nrefs/remotes/origin/main"},
	} {
		if got := in.git("", strings.Fields(c.args)...); strings.TrimSpace(got) != strings.TrimSpace(c.want) {
			t.Errorf("git %s: %s\nwant %s", c.args, got, c.want)
		}
	}
	blame := in.git("", "blame", "-s", "a.txt")
	for i, commit := range []string{r.git("", "rev-parse", "main~2"), parted, r.git("", "rev-parse", "topic~1")} {
		if line := strings.Split(blame, "\n")[i]; !strings.Contains(line, commit[:7]) {
			t.Errorf("line %d is blamed on %s, not %s", i+1, line, commit[:8])
		}
	}
	if diff := cmp.Diff(r.reachable(head), in.objects()); diff != "" {
		t.Errorf("objects (-of the branch +inside):\n%s", diff)
	}
	// It can be worked with.
	in.put(tree{"a.txt": "changed\n"})
	in.git("", "stash")
	if got := in.git("", "show", "HEAD:a.txt"); got != "one\n2\nthree" {
		t.Errorf("after a stash the file is %q", got)
	}
	in.git("", "stash", "pop")
	in.git("", "commit", "-q", "-am", "mine")
	if got := in.git("", "diff", "--name-only", "main...HEAD"); got != "a.txt\nd/b.txt\nnew/c.txt" {
		t.Errorf("after a commit the branch differs in %q", got)
	}
}

// only checks that git shows one commit of these files, and has no content with one of the
// words.
func (in inside) only(files string, words ...string) {
	in.t.Helper()
	if got := in.git("", "rev-list", "--count", "--all"); got != "1" {
		in.t.Errorf("there are %s commits, want 1", got)
	}
	if got := in.git("", "ls-tree", "-r", "--name-only", "HEAD"); got != files {
		in.t.Errorf("the commit has %q, want %q", got, files)
	}
	for _, line := range in.objects() {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		text := in.git("", "cat-file", "-p", id)
		if kind == "blob" && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			in.t.Errorf("%s %s is %q", kind, id, text)
		}
	}
}

// If the rules hide anything in a commit, git shows one commit without it, whatever pasts
// of other commits and rules exist.
func TestPastHides(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for _, near := range []bool{false, true} {
		r := newRepo(t)
		s := openStore(t, t.TempDir())
		first := r.start(secretTree, tree{"keys/one": "older secret\n", "a.txt": "second\n"}, tree{"keys/one": "", "keys/deep/two": "", "gone/key": "secret five\n"})
		head := r.branch("topic", first, tree{"a.txt": "3\n"}, tree{"only/key": "secret six\n"})
		rules := hides("keys/", "key")
		if near { // pasts that show more and less are there
			r.open(s, Past{Want: Want{Commit: first}, Branch: "b"})
			r.open(s, Past{Want: Want{Commit: first, Rules: rules}, Branch: "b"})
		}
		in := r.open(s, Past{Want: Want{Commit: head, Rules: rules}, Branch: "b", Main: "main", MainAt: first})
		in.only(strings.TrimSpace(in.git("", "ls-files")), "secret", "second")
		if got := in.git("", "log", "--format=%an %s", "-p"); !strings.Contains(got, "topic 1") || !strings.Contains(got, "+3") {
			t.Errorf("the commit is\n%s", got)
		}
		in = r.open(s, Past{Want: Want{Commit: head, Rules: rules}, Branch: "b", Main: "main", MainAt: head})
		if got := in.git("", "rev-parse", "main", "origin/main"); got != strings.Repeat(in.git("", "rev-parse", "HEAD")+"\n", 2)[:81] {
			t.Errorf("the branch that the work begins on is at %s", got)
		}
	}
}

// What one of the commits hides is not shown at its former place, in one that hides
// nothing. Rules that hide nothing in any of them leave the past as it is.
func TestPastHidesWhatMoved(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	first := r.start(tree{"app.env": "secret one\n", "note": "common\n"}, tree{"app.env": "secret two\n"})
	rules := hides("keys/")
	in := r.open(s, Past{Want: Want{Commit: first, Rules: rules}, Branch: "b"}) // nothing says yet that it is one
	if got := in.git("", "rev-parse", "HEAD"); got != first {
		t.Errorf("rules that hide nothing change %s to %s", first, got)
	}
	head := r.branch("main", first, tree{"app.env": "", "keys/app.env": "secret two\n"}, tree{"keys/app.env": "secret one\n", "a": "a\n"})
	r.open(s, Past{Want: Want{Commit: head, Rules: rules}, Branch: "b", Main: "main", MainAt: head}).only("a\nnote", "secret")
	head = r.branch("main", head, tree{"keys/app.env": ""})
	r.open(s, Past{Want: Want{Commit: head, Rules: rules}, Branch: "b", Main: "main", MainAt: head}).only("a\nnote", "secret")
}

// Where a part is outside, git shows one commit of the rest.
func TestPastOutside(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	head := r.start(tree{"in/a": "first\n", "in/b": "same\n", "out/b": "same\n", "out/c": "elsewhere\n"}, tree{"in/a": "2\n"})
	r.open(s, Past{Want: Want{Commit: head, Rules: hides("key")}, Branch: "b"})
	in := r.open(s, Past{Want: Want{Commit: head, Rules: outside(hides("key"), "out/")}, Branch: "b", Main: "main", MainAt: head})
	in.only("in/a\nin/b", "elsewhere", "first")
}

// A past ends where there is much of it, and shows where the work parted from its
// branch in any case.
func TestLongPast(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	many := make([]tree, pastDepth+20)
	for i := range many {
		many[i] = tree{"a.txt": fmt.Sprintln(i)}
	}
	main := r.start(many...)
	in := r.open(s, Past{Want: Want{Commit: main}, Branch: "b", Main: "main", MainAt: main})
	if got := in.git("", "rev-list", "--count", "HEAD"); got != fmt.Sprint(pastDepth) {
		t.Errorf("there are %s commits, want %d", got, pastDepth)
	}
	if got := in.git("", "blame", "-s", "a.txt"); !strings.HasPrefix(got, main[:8]) {
		t.Errorf("blame says %q", got)
	}
	head := r.branch("topic", main, many...)
	in = r.open(s, Past{Want: Want{Commit: head}, Branch: "b", Main: "main", MainAt: main})
	if got := in.git("", "rev-list", "--count", "main..HEAD"); got != fmt.Sprint(len(many)) {
		t.Errorf("the branch has %s commits, want %d", got, len(many))
	}
}

// Several commits share what they have in common, one after the other, and each shows
// no more than its own.
func TestPastsShare(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRepo(t)
	dir := t.TempDir()
	s := openStore(t, dir)
	head := r.start(tree{"a.txt": "0\n"})
	for i := range 3 * pastPacks {
		head = r.branch("main", head, tree{"a.txt": fmt.Sprintln(i), fmt.Sprintf("f%d", i): fmt.Sprintln("x", i)})
		r.branch("side", head, tree{"side.txt": fmt.Sprintln("of the side", i)})
		if i%3 == 0 { // another one was asked for in between
			r.open(s, Past{Want: Want{Commit: r.git("", "rev-parse", "side")}, Branch: "b", Share: true})
		}
		in := r.open(s, Past{Want: Want{Commit: head}, Branch: "b", Share: true})
		if diff := cmp.Diff(r.reachable(head), in.objects()); diff != "" {
			t.Fatalf("step %d: objects (-of the branch +inside):\n%s", i, diff)
		}
		a, err := readPast(s, pastPrefix+digest(head, strings.Repeat("0", 40), r.git("", "rev-parse", head+"^{tree}")))
		must(t, err)
		if a.Packs > pastPacks {
			t.Errorf("step %d: there are %d packs", i, a.Packs)
		}
	}
	// One that is damaged is made anew.
	packs, err := filepath.Glob(filepath.Join(dir, "*/bases/p-*/tree/objects/pack/*.pack"))
	must(t, err)
	for _, name := range packs {
		must(t, os.WriteFile(name, []byte("PACK"), 0o644))
	}
	r.open(s, Past{Want: Want{Commit: head}, Branch: "b"})
	must(t, s.sweep(s.cfg.MaxAge))
}

// A shallow clone shows the past that it has, and changes nothing of what a full one shows.
func TestPastOfAShallowClone(t *testing.T) {
	t.Parallel()
	full := newRepo(t)
	s := openStore(t, t.TempDir())
	head := full.start(tree{"a.txt": "0\n"})
	for i := range 3 {
		head = full.branch("main", head, tree{"a.txt": fmt.Sprintln("then", i)})
	}
	shallow := &repo{t: t, dir: filepath.Join(t.TempDir(), "c")}
	full.git("", "clone", "-q", "--depth=2", "-b", "main", "file://"+full.dir, shallow.dir)
	shallow.m = openClone(shallow.dir)
	t.Cleanup(shallow.m.pool.Renew)
	p := Past{Want: Want{Commit: head}, Branch: "b", Share: true}
	for _, tt := range []struct {
		r    *repo
		want string
	}{{shallow, "2"}, {full, "5"}, {shallow, "2"}} {
		if got := tt.r.open(s, p).git("", "rev-list", "--count", "HEAD"); got != tt.want {
			t.Errorf("git shows %s commits, want %s", got, tt.want)
		}
	}
}

// Contents that a workspace can write to are nobody else's.
func TestPastIsNotShared(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	head := r.start(tree{"a.txt": "a\n"})
	for _, share := range []bool{false, true} {
		p := Past{Want: Want{Commit: head}, Branch: "b", Files: t.TempDir(), Objects: t.TempDir(), Share: share}
		must(t, s.WritePast(t.Context(), r.m, p))
		packs, err := filepath.Glob(filepath.Join(p.Objects, "pack/*"))
		must(t, err)
		files, err := filepath.Glob(filepath.Join(p.Files, "*"))
		must(t, err)
		if len(packs) != 2 || len(files) == 0 {
			t.Fatalf("there are %q and %q", packs, files)
		}
		for _, name := range append(packs, files...) {
			st, err := os.Stat(name)
			must(t, err)
			if links(st) > 1 != (share && slices.Contains(packs, name)) {
				t.Errorf("with share %v %s has %d links", share, filepath.Base(name), links(st))
			}
		}
	}
}

// Trees of all kinds: nothing, links, programs, submodules, odd names, and what git
// would convert.
func TestPastOfAnyTree(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRepo(t)
	for name, files := range map[string]tree{
		"nothing": {},
		"kinds":   {"l": "-> a.txt", "a.txt": "a\n", "run!": "#!/bin/sh\n", "dead": "-> /nowhere"},
		"module":  {"sub/mod": "submodule", "a": "a"},
		"names":   {"ä ö": "1", "a\nb": "2", `c\d"e`: "3", strings.Repeat("n", 250) + "/" + strings.Repeat("m", 250) + "/" + strings.Repeat("o", 250): "long", "a-b": "4", "a/b": "5", "a.b": "6"},
		"lines":   {".gitattributes": "*.txt text eol=crlf\n*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.txt": "a\nb\n", "b.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12345\n"},
		"same":    {"one": "same", "two": "same", "d/three": "same", "e/four": "same"},
		"large":   {"big": strings.Repeat("0123456789abcdef", 1<<19)},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			sub := *r
			sub.t = t
			in := sub.open(s, Past{Want: Want{Commit: r.commit(files)}, Branch: "b"})
			if name == "lines" {
				in.put(tree{"b.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("b", 64) + "\nsize 1\n", "a.txt": "a\nc\n"})
				if got := in.git("", "diff", "--stat"); !strings.Contains(got, "2 files changed") {
					t.Errorf("the difference is %s", got)
				}
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		sub := *r
		sub.t = t
		in := sub.open(openStore(t, t.TempDir()), Past{Branch: "b"})
		in.put(tree{"a": "a\n"})
		in.git("", "add", "-A")
		in.git("", "commit", "-q", "-m", "first")
	})
}

func links(info os.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Nlink)
}
