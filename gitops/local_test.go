package gitops

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// clone makes a person's clone with some files.
func clone(t *testing.T, files map[string]string) (dir, head string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), "init", "-q", "-b", "main", dir)
	head = commitFiles(t, dir, "first", files)
	return dir, head
}

func TestOpenLocal(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	dir, head := clone(t, map[string]string{"a": "1\n", "sub/b": "2\n"})
	tree := filepath.Join(t.TempDir(), "linked")
	git(t, dir, "worktree", "add", "-q", "-b", "side", tree)
	side := commitFiles(t, tree, "side", map[string]string{"a": "side\n"})
	git(t, dir, "gc", "-q")
	module := filepath.Join(t.TempDir(), "module")
	git(t, dir, "init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere"), module)
	inModule := commitFiles(t, module, "m", map[string]string{"m": "1\n"})

	tests := []struct{ name, path, branch, head string }{
		{"work tree", dir, "main", head},
		{"below the work tree", filepath.Join(dir, "sub"), "main", head},
		{"git directory", filepath.Join(dir, ".git"), "main", head},
		{"linked work tree", tree, "side", side},
		{"git directory elsewhere", module, "main", inModule},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.branch = git(t, tt.path, "symbolic-ref", "--short", "HEAD"); tt.branch == "" {
				t.Fatal("no branch")
			}
			m := must(OpenLocal(tt.path))(t)
			t.Cleanup(func() { _ = m.Close() })
			branch, at, err := m.Default(t.Context())
			if branch != tt.branch || at != tt.head || err != nil {
				t.Errorf("default: %q %q %v, want %q %q", branch, at, err, tt.branch, tt.head)
			}
			id := checkpointOn(t, m, at, "new", "n\n")
			const ref = "refs/heads/agent/x-1"
			must(0, m.SetRef(t.Context(), ref, id, ""))(t)
			if got := git(t, tt.path, "rev-parse", ref); got != id {
				t.Errorf("git sees %s at %s, want %s", ref, got, id)
			}
			if err := m.SetRef(t.Context(), "refs/heads/"+branch, id, at); !errors.Is(err, errRefName) {
				t.Errorf("the checked-out branch was moved: %v", err)
			}
			if got := git(t, tt.path, "rev-parse", "HEAD"); got != at {
				t.Errorf("HEAD moved to %s", got)
			}
			must(0, m.SetRef(t.Context(), ref, "", id))(t)
		})
	}
	if got := git(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("the work tree or index changed:\n%s", got)
	}
	git(t, dir, "checkout", "-q", "--detach")
	m := must(OpenLocal(dir))(t)
	if branch, at, err := m.Default(t.Context()); branch != "" || at != head || err != nil {
		t.Errorf("detached: %q %q %v", branch, at, err)
	}
	if err := m.Fetch(t.Context()); !errors.Is(err, errNoRemote) {
		t.Errorf("fetch: %v", err)
	}
	if err := m.Push(t.Context(), Push{Commit: head, Ref: "refs/heads/x"}); !errors.Is(err, errNoRemote) {
		t.Errorf("push: %v", err)
	}
	if _, err := OpenLocal(t.TempDir()); !errors.Is(err, ErrNotFound) {
		t.Errorf("no repository: %v", err)
	}
	fsck(t, dir)
}

func TestFormatsOfLocalClones(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	tests := []struct {
		name string
		set  [][]string
		want error
	}{
		{"sparse checkout with settings per work tree", [][]string{{"extensions.worktreeConfig", "true"}, {"core.sparseCheckout", "true"}}, nil},
		{"precious objects", [][]string{{"extensions.preciousObjects", "true"}}, nil},
		{"partial clone", [][]string{{"extensions.partialClone", "origin"}}, errUnsupported},
		{"promisor", [][]string{{"remote.origin.promisor", "true"}}, errUnsupported},
		{"sha256", [][]string{{"extensions.objectFormat", "sha256"}}, errUnsupported},
		{"reftable", [][]string{{"extensions.refStorage", "reftable"}}, errUnsupported},
		{"from the future", [][]string{{"extensions.somethingNew", "1"}}, errUnsupported},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, head := clone(t, map[string]string{"a": "1\n"})
			for _, kv := range append([][]string{{"core.repositoryformatversion", "1"}}, tt.set...) {
				git(t, dir, "config", "-f", filepath.Join(dir, ".git", "config"), kv[0], kv[1])
			}
			m, err := OpenLocal(dir)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err == nil {
				if got, err := m.Resolve(t.Context(), "main"); got != head || err != nil {
					t.Errorf("main is %q %v", got, err)
				}
			}
		})
	}
}

// A person who has a partial clone is told what makes it a full one, and it does.
func TestPartialCloneIsMadeFull(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	_, bare, _ := r.repo("one", many(5))
	git(t, bare, "config", "uploadpack.allowFilter", "true")
	dir := filepath.Join(t.TempDir(), "c")
	git(t, t.TempDir(), "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+bare, dir)
	_, err := OpenLocal(dir)
	if !errors.Is(err, errUnsupported) {
		t.Fatalf("a partial clone: %v", err)
	}
	_, line, _ := strings.Cut(err.Error(), "`")
	line, _, _ = strings.Cut(line, "`")
	for c := range strings.SplitSeq(line, " && ") {
		args := strings.Fields(c)
		git(t, dir, args[1:]...)
	}
	m, err := OpenLocal(dir)
	if err != nil {
		t.Fatalf("after %q: %v", line, err)
	}
	if files, err := filesOf(t, m, "main"); err != nil || len(files) < 5 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if how := fullCloneHint("x;reboot"); strings.Contains(how, "reboot") {
		t.Errorf("a command with another in it: %s", how)
	}
}

func TestCloneThatIsRepackedMeanwhile(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	dir, head := clone(t, map[string]string{"a": "1\n"})
	git(t, dir, "gc", "-q")
	m := must(OpenLocal(dir))(t)
	must(m.Resolve(t.Context(), "main"))(t)
	next := commitFiles(t, dir, "next", map[string]string{"a": "2\n"})
	git(t, dir, "-c", "gc.pruneExpire=now", "gc", "-q")
	for rev, want := range map[string]string{head: "1\n", next: "2\n", "main": "2\n"} {
		if data, err := m.ReadFile(t.Context(), rev, "a", 0); string(data) != want || err != nil {
			t.Errorf("a in %s: %q %v, want %q", rev, data, err, want)
		}
	}
}

func TestShallowAndBorrowingClones(t *testing.T) {
	t.Parallel()
	dir, _ := clone(t, map[string]string{"a": "1\n"})
	head := commitFiles(t, dir, "second", map[string]string{"a": "2\n"})
	for name, arg := range map[string]string{"shallow": "--depth=1", "borrowing": "--shared"} {
		to := filepath.Join(t.TempDir(), name)
		git(t, dir, "clone", "-q", arg, "file://"+dir, to)
		if arg == "--shared" {
			to += "2"
			git(t, dir, "clone", "-q", arg, dir, to)
		}
		m := must(OpenLocal(to))(t)
		id := checkpointOn(t, m, head, "a", "3\n")
		if text, _, err := m.Diff(t.Context(), head, id, DiffOptions{}); err != nil || !strings.Contains(text, "-2\n+3\n") {
			t.Errorf("%s: diff %q %v", name, text, err)
		}
		if log, err := history(m, "", id); err != nil || len(log) < 2 {
			t.Errorf("%s: log of %d commits, %v", name, len(log), err)
		}
		fsck(t, to)
	}
}

func TestSetRef(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, _, _ := seeded(t, map[string]string{"a": "1\n"})
	one := checkpointOn(t, m, head, "a", "2\n")
	const ref = "refs/handrail/s1"
	steps := []struct {
		name, ref, commit, old string
		want                   error
	}{
		{"make", ref, one, "", nil},
		{"make again", ref, one, "", ErrStale},
		{"wrong old", ref, head, head, ErrStale},
		{"move", ref, head, one, nil},
		{"delete with a wrong old", ref, "", one, ErrStale},
		{"delete", ref, "", head, nil},
		{"in place of a directory", ref + "/deeper", one, "", nil},
		{"and back", ref + "/deeper", "", one, nil},
		{"where the directory was", ref, one, "", nil},
		{"a head of the mirror", "refs/heads/x", one, "", errRefName},
		{"shell text", "refs/handrail/$(id)", one, "", errRefName},
	}
	for _, s := range steps {
		if err := m.SetRef(t.Context(), s.ref, s.commit, s.old); !errors.Is(err, s.want) {
			t.Errorf("%s: %v, want %v", s.name, err, s.want)
		}
	}
	if err := m.SetRef(t.Context(), "refs/handrail/s2", strings.Repeat("1", 40), ""); err == nil {
		t.Error("a ref to a commit that is not there was made")
	}
	lock := filepath.Join(m.dir, filepath.FromSlash(ref)+".lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unlock := must(m.refs.lock(t.Context()))(t)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := m.SetRef(short, ref, head, one); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a ref that somebody else is changing was moved: %v", err)
	}
	unlock()
	must(0, m.SetRef(t.Context(), ref, one, one))(t) // the lock file's maker is dead

	// In a person's clone git locks too, and may be at it.
	local := must(OpenLocal(m.dir))(t)
	must(0, os.WriteFile(lock, nil, 0o600))(t)
	if err := local.SetRef(t.Context(), ref, head, one); !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a ref of a clone that git has locked was moved: %v", err)
	}
	must(0, os.Remove(lock))(t)
	packed := filepath.Join(m.dir, "packed-refs.lock")
	must(0, os.WriteFile(packed, nil, 0o600))(t)
	must(0, m.refs.pack(t.Context(), func(l []packedRef) []packedRef { return l }))(t)
	if _, err := os.Stat(packed); !os.IsNotExist(err) {
		t.Errorf("a lock file is left: %v", err)
	}
	must(0, m.Fetch(t.Context()))(t)
	if got, err := m.Resolve(t.Context(), ref); got != one || err != nil {
		t.Errorf("own ref after a fetch: %q %v", got, err)
	}

	// Of many that move a ref from the same commit, one wins.
	var wg sync.WaitGroup
	wins := make(chan string, 16)
	for i := range 16 {
		id := checkpointOn(t, m, one, "a", strings.Repeat("z", i+1))
		wg.Go(func() {
			if m.SetRef(context.WithoutCancel(t.Context()), ref, id, one) == nil {
				wins <- id
			}
		})
	}
	wg.Wait()
	close(wins)
	if len(wins) != 1 || must(m.Resolve(t.Context(), ref))(t) != <-wins {
		t.Errorf("%d of 16 moves succeeded, want exactly the one that is seen", len(wins))
	}
	fsck(t, m.dir)
}

func TestCheckRef(t *testing.T) {
	t.Parallel()
	good := []string{"refs/heads/main", "refs/heads/agent/12-fix-it", "refs/pull/7/head", "refs/heads/a.b_c+d@e#f=g", "refs/heads/größe", "refs/agent/sessions/1"}
	bad := []string{"", "main", "refs/", "refs/heads", "refs/heads/", "refs/heads//x", "/refs/heads/x", "refs/heads/-x", "refs/heads/x/-y", "refs/heads/.x",
		"refs/heads/x..y", "refs/heads/x.lock", "refs/heads/x.LOCK", "refs/heads/x.", "refs/heads/@", "refs/heads/a@{1}", "refs/heads/$(id)", "refs/heads/a;id",
		"refs/heads/`id`", "refs/heads/a b", "refs/heads/a\nb", "refs/heads/a\x00b", "refs/heads/a~1", "refs/heads/a^", "refs/heads/a:b", "refs/heads/a?", "refs/heads/a*",
		"refs/heads/a[b", `refs/heads/a\b`, "refs/heads/a'b", `refs/heads/a"b`, "refs/heads/a|b", "refs/heads/a&b", "refs/heads/a<b", "refs/heads/a!b", "refs/heads/{a,b}",
		"refs/heads/\u202ex", "refs/heads/a\u200bb", "refs/heads/\xff", "refs/../x", "--upload-pack=id", "refs/heads/" + strings.Repeat("x", 250)}
	for _, name := range good {
		if err := checkRef(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range bad {
		if err := checkRef(name); !errors.Is(err, errRefName) {
			t.Errorf("%q: %v, want a refusal", name, err)
		}
	}
}

func FuzzCheckRef(f *testing.F) {
	for _, s := range []string{"refs/heads/main", "refs/heads/$(id)", "refs/heads/a/../b", "refs/heads/x.lock/y", "refs/heads/é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkRef(name) != nil {
			return
		}
		if strings.ContainsAny(name, " \t\n\r\x00~^:?*[\\$`;|&<>(){}!'\"%") || strings.Contains(name, "..") || strings.Contains(name, "/-") || strings.HasPrefix(name, "-") {
			t.Errorf("accepted %q", name)
		}
		if clean := filepath.Join("/r", filepath.FromSlash(name)); clean != "/r/"+name {
			t.Errorf("%q is the file %q", name, clean)
		}
		if out, err := gitTry(t, "/", "", "check-ref-format", name); err != nil {
			t.Errorf("git refuses %q: %s", name, out)
		}
	})
}

// TestPlantedAttacks gives a hostile clone, and hostile content, to
// everything that touches them. Each planted command would leave a marker.
func TestPlantedAttacks(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	marks := t.TempDir()
	r := newRemote(t)
	url, bare, _ := r.repo("one", map[string]string{"a.txt": "1\n", "x.bin": "bin\n"})
	dir := filepath.Join(t.TempDir(), "clone")
	git(t, marks, "clone", "-q", bare, dir)
	plant(t, dir, marks)

	local := must(OpenLocal(dir))(t)
	head := must(local.Resolve(t.Context(), "HEAD"))(t)
	mirror := mirrorOf(t, url)
	var changes []Change
	for path := range onDisk(t, dir) {
		full := filepath.Join(dir, path)
		if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() {
			continue
		}
		changes = append(changes, Change{Path: path, Open: func() (io.ReadCloser, error) { return os.Open(full) }})
	}
	for name, m := range map[string]*Mirror{"clone": local, "mirror": mirror} {
		c, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: changes, Meta: Meta{Message: "x"}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for path := range lsTree(t, m.dir, c.ID) {
			if strings.Contains(strings.ToLower(path), ".git/") {
				t.Errorf("%s: %s was committed", name, path)
			}
		}
		if _, _, err := m.Diff(t.Context(), head, c.ID, DiffOptions{}); err != nil {
			t.Errorf("%s: diff: %v", name, err)
		}
		if _, err := filesOf(t, m, c.ID); err != nil {
			t.Errorf("%s: files: %v", name, err)
		}
		if err := m.SetRef(t.Context(), "refs/handrail/x", c.ID, ""); err != nil {
			t.Errorf("%s: set ref: %v", name, err)
		}
		if data, _ := m.ReadFile(t.Context(), c.ID, "x.bin", 0); string(data) != "changed\n" {
			t.Errorf("%s: a filter or something else changed x.bin to %q", name, data)
		}
		if name == "mirror" {
			must(0, m.Push(t.Context(), Push{Commit: c.ID, Ref: "refs/heads/x"}))(t)
			must(0, m.Fetch(t.Context()))(t)
		}
	}
	if left, _ := os.ReadDir(marks); len(left) > 0 {
		t.Errorf("planted commands ran: %v", left)
	}
	// The plants are live: git itself runs some of them.
	_, _ = gitTry(t, dir, "", "status")
	_, _ = gitTry(t, dir, "", "add", "-A")
	_, _ = gitTry(t, dir, "", "commit", "-q", "-m", "x")
	_, _ = gitTry(t, dir, "", "-c", "color.ui=never", "diff", "--ext-diff", "HEAD~1")
	if left, _ := os.ReadDir(marks); len(left) < 3 {
		t.Errorf("git ran only %v: the plants prove nothing", left)
	}
}

// plant fills a clone with commands that git would run.
// TestNoProgramIsRun: neither git nor anything else is started here.
func TestNoProgramIsRun(t *testing.T) {
	t.Parallel()
	files := must(filepath.Glob("*.go"))(t)
	read := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		read++
		tree := must(parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution))(t)
		for _, im := range tree.Imports {
			switch im.Path.Value {
			case `"os/exec"`, `"plugin"`:
				t.Errorf("%s imports %s", f, im.Path.Value)
			}
			if im.Name != nil && im.Path.Value == `"syscall"` {
				t.Errorf("%s gives syscall another name", f)
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "syscall" && sel.Sel.Name != "Errno" {
				t.Errorf("%s uses syscall.%s", f, sel.Sel.Name)
			}
			return true
		})
	}
	if read == 0 {
		t.Error("no source was read")
	}
}

func plant(t *testing.T, dir, marks string) {
	t.Helper()
	mark := func(name string) string { return "touch " + filepath.Join(marks, name) }
	script := func(path, name string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+mark(name)+"\ncat\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script(filepath.Join(dir, ".git", "tool"), "config")
	write(".git/extra", "[core]\n\tpager = "+mark("include")+"\n[alias]\n\tstatus = !"+mark("alias")+"\n")
	for key, value := range map[string]string{
		"core.fsmonitor": mark("fsmonitor") + "; false", "core.hooksPath": filepath.Join(dir, "hooks"), "core.sshCommand": mark("ssh"),
		"core.pager": mark("pager"), "core.editor": mark("editor"), "diff.external": filepath.Join(dir, "hooks", "ext"), "credential.helper": "!" + mark("credential"),
		"filter.evil.clean": mark("clean") + "; cat", "filter.evil.smudge": mark("smudge") + "; cat", "filter.evil.process": mark("process"),
		"diff.evil.textconv": mark("textconv") + "; cat", "diff.evil.command": mark("diffcmd"), "merge.evil.driver": mark("merge"),
		"include.path": "extra", "gpg.program": mark("gpg"), "url.ext::sh -c " + mark("ext") + ".insteadOf": "http://127.0.0.1", "uploadpack.packObjectsHook": mark("packhook"),
	} {
		git(t, dir, "config", "-f", filepath.Join(dir, ".git", "config"), key, value)
	}
	for _, hook := range []string{"pre-commit", "post-commit", "commit-msg", "pre-push", "post-checkout", "reference-transaction", "post-index-change", "ext"} {
		script(filepath.Join(dir, "hooks", hook), "hook-"+hook)
		script(filepath.Join(dir, ".git", "hooks", hook), "githook-"+hook)
	}
	write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	write("x.bin", "changed\n")
	write("a.txt", "changed\n")
	write("ctl\x01name", "c\n")
	write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::sh -c "+mark("submodule")+"\n\tupdate = !"+mark("update")+"\n")
	git(t, dir, "-c", "core.fsmonitor=false", "init", "-q", filepath.Join(dir, "sub"))
	git(t, filepath.Join(dir, "sub"), "config", "core.fsmonitor", mark("sub-fsmonitor")+"; false")
	for _, f := range must(filepath.Glob(filepath.Join(marks, "*")))(t) {
		_ = os.Remove(f) // what planting itself set off
	}
}
