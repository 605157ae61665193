package workspacetest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/workspace"
)

func ignore(t *testing.T, s Subject) {
	ws := Open(t, s, Tree{
		".agentignore": "secret/\n*.pem\n!ok.pem\n", "secret/a.txt": "needle\n", "key.pem": "needle\n", "ok.pem": "needle\n",
		"sub/.agentignore": "private.txt\n", "sub/private.txt": "needle\n", "sub/public.txt": "needle\n",
		"link.txt": "-> secret/a.txt", "linkdir": "-> secret",
	})
	ctx := t.Context()
	for _, p := range []string{"secret/a.txt", "secret/new.txt", "secret/deep/new.txt", "key.pem", "sub/private.txt", "link.txt", "linkdir/a.txt", "linkdir/new.txt"} {
		if _, err := ws.Read(ctx, p); !errors.Is(err, workspace.ErrIgnored) && !errors.Is(err, workspace.ErrNotExist) {
			t.Errorf("read %s: %v, want ErrIgnored", p, err)
		}
		if err := ws.Write(ctx, p, []byte("x")); !errors.Is(err, workspace.ErrIgnored) {
			t.Errorf("write %s: %v, want ErrIgnored", p, err)
		}
		if p == "link.txt" {
			continue // the link itself is not excluded
		}
		if err := ws.Remove(ctx, p); !errors.Is(err, workspace.ErrIgnored) {
			t.Errorf("remove %s: %v, want ErrIgnored", p, err)
		}
	}
	for _, p := range []string{"ok.pem", "sub/public.txt"} {
		if _, err := ws.Read(ctx, p); err != nil {
			t.Errorf("read %s: %v", p, err)
		}
	}
	// Rules are those of the base: the agent cannot lift them.
	mustRun(t, ws, "echo > .agentignore; rm sub/.agentignore")
	m, err := ws.Search(ctx, workspace.Query{Pattern: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range m.Files {
		found = append(found, f.Path)
	}
	if diff := cmp.Diff([]string{"ok.pem", "sub/public.txt"}, found); diff != "" {
		t.Errorf("found files (-want +got):\n%s", diff)
	}
	if _, err := ws.Read(ctx, "sub/private.txt"); !errors.Is(err, workspace.ErrIgnored) {
		t.Errorf("read after lifting the rules: %v, want ErrIgnored", err)
	}
	// Changes made there by commands can still be saved.
	mustRun(t, ws, "echo changed > key.pem")
	if got := content(t, ws, "key.pem"); got != "changed\n" {
		t.Errorf("content of an excluded file: %q", got)
	}
}

func content(t testing.TB, ws *workspace.Workspace, path string) string {
	t.Helper()
	r, err := ws.Content(t.Context(), path)
	if err != nil {
		t.Fatalf("content of %s: %v", path, err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("content of %s: %v", path, err)
	}
	return string(data)
}

func list(t *testing.T, s Subject) {
	ws := Open(t, s, Tree{
		".gitignore": "*.log\n/build/\nnode_modules\n", "a.txt": "12345", "b.log": "x", "build/out": "x", "sub/build/keep": "x",
		"sub/.gitignore": "!keep.log\ntmp*\n", "sub/keep.log": "x", "sub/tmp1": "x", "sub/node_modules/x/y.js": "x",
	})
	ctx := t.Context()
	paths := func(l workspace.Listing) []string {
		var out []string
		for _, e := range l.Entries {
			out = append(out, e.Path)
		}
		return out
	}
	tests := []struct {
		name, path string
		recursive  bool
		max        int
		want       []string
		left       int
	}{
		{"top", "", false, 0, []string{".gitignore", "a.txt", "sub/"}, 0},
		{
			"recursive",
			".",
			true,
			0,
			[]string{".gitignore", "a.txt", "sub/", "sub/.gitignore", "sub/build/", "sub/build/keep", "sub/keep.log"},
			0,
		},
		{"below", "sub", false, 0, []string{"sub/.gitignore", "sub/build/", "sub/keep.log"}, 0},
		{"capped", ".", true, 2, []string{".gitignore", "a.txt"}, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := ws.List(ctx, tt.path, tt.recursive, tt.max)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, paths(l)); diff != "" || l.Left != tt.left {
				t.Errorf("left %d, want %d; entries (-want +got):\n%s", l.Left, tt.left, diff)
			}
		})
	}
	if _, err := ws.List(ctx, "missing", false, 0); !errors.Is(err, workspace.ErrNotExist) {
		t.Errorf("list a missing directory: %v", err)
	}
	if _, err := ws.List(ctx, "a.txt", false, 0); err == nil {
		t.Error("list a file: no error")
	}
}

func find(t *testing.T, s Subject) {
	ws := Open(t, s, Tree{
		".gitignore": "skip/\n", ".agentignore": "hidden.go\n", "skip/main.go": "x", "hidden.go": "x", "cmd/main.go": "x", "cmd/Main_test.go": "x", "lib/main.py": "x",
		"lib/domain/user.go": "x", "domains.md": "x", "a/b/c/user.go": "x", "a/b/c/usr.txt": "x", "main/notes.md": "x", "odd[1].go": "x",
	})
	for _, tt := range []struct {
		pattern, path string
		most          int
		want          string
		left          int
		near          bool
	}{
		{"main.go", "", 0, "cmd/main.go lib/main.py", 0, false},
		{"MAIN", "", 0, "main/ cmd/main.go lib/main.py cmd/Main_test.go domains.md lib/domain/", 0, false},
		{"main", "", 2, "main/ cmd/main.go", 4, false},
		{"*.go", "", 0, "a/b/c/user.go cmd/Main_test.go cmd/main.go lib/domain/user.go odd[1].go", 0, false},
		{"*.go", "lib", 0, "lib/domain/user.go", 0, false},
		{"cmd/*.go", "", 0, "cmd/Main_test.go cmd/main.go", 0, false},
		{"domain/*.go", "", 0, "lib/domain/user.go", 0, false},
		{"main_TEST.*", "", 0, "cmd/Main_test.go", 0, false},
		{"**/user.{go,py}", "", 0, "a/b/c/user.go lib/domain/user.go", 0, false},
		{"c*/", "", 0, "a/b/c/ cmd/", 0, false},
		{"lib/dommain/user.go", "", 0, "lib/domain/user.go a/b/c/user.go", 0, false}, // nearest first
		{"./lib/main.py", "", 0, "lib/main.py cmd/main.go", 0, false},
		{`odd\[1].go`, "", 0, "odd[1].go", 0, false},
		{"uzer.go", "", 0, "a/b/c/user.go lib/domain/user.go", 0, true},
		{"hidden.go", "", 0, "", 0, false}, {"skip/main.go", "lib", 0, "lib/main.py", 0, false}, {"nothing-like-it", "", 0, "", 0, false},
	} {
		got, err := ws.Find(t.Context(), workspace.NameQuery{Pattern: tt.pattern, Path: tt.path, Max: tt.most})
		if err != nil {
			t.Fatal(err)
		}
		if list := strings.Join(got.Paths, " "); list != tt.want || got.Left != tt.left || got.Near != tt.near {
			t.Errorf(
				"%s in %q: %s, %d left, near %t; want %s, %d, %t",
				tt.pattern,
				tt.path,
				list,
				got.Left,
				got.Near,
				tt.want,
				tt.left,
				tt.near,
			)
		}
	}
	for _, q := range []workspace.NameQuery{{Pattern: " / "}, {Pattern: "[a"}, {Pattern: "a", Path: "nowhere"}, {Pattern: "a", Path: "../"}} {
		if _, err := ws.Find(t.Context(), q); err == nil {
			t.Errorf("%+v: no error", q)
		}
	}
}

func outline(t *testing.T, s Subject) {
	ws := Open(
		t,
		s,
		Tree{
			"a.go":         "package a\n\ntype Shop struct{}\n\nfunc (Shop) Open() {}\n",
			"b/b.py":       "from a import Shop\n\nclass Till:\n    def count(self): pass\n",
			"b/c.py":       "Shop, Till = 1, 2\n",
			"d.rs":         "fn x() { Shop }\n",
			".agentignore": "hidden.py\n",
			"hidden.py":    "class Shop: pass\n",
			"data.zig":     "x\n",
			"link.py":      "-> hidden.py",
			"out.py":       "-> /etc/passwd",
			"bin.py":       "\x00",
		},
	)
	o, err := ws.Outline(t.Context(), workspace.OutlineQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range o.Files {
		for _, d := range f.Defs {
			got = append(got, fmt.Sprintf("%s:%d.%d %s", f.Path, d.Line, d.Depth, d.Text))
		}
	}
	want := "a.go:3.0 type Shop struct{}, a.go:5.0 func (Shop) Open() {}, d.rs:1.0 fn x() { Shop }, b/b.py:3.0 class Till:, b/b.py:4.1 def count(self): pass"
	if list := strings.Join(got, ", "); list != want || strings.Join(o.Unknown, " ") != ".zig" {
		t.Errorf("the outline is\n%s, unknown %v; want\n%s", list, o.Unknown, want)
	}
	if o, err = ws.Outline(t.Context(), workspace.OutlineQuery{Glob: "*.py", Max: 70}); err != nil || len(o.Files) != 1 ||
		len(o.Files[0].Defs) != 1 ||
		o.Left != 1 {
		t.Errorf("of some files, shortened, it is %+v, %v", o, err)
	}
	for _, q := range []workspace.OutlineQuery{{Path: "hidden.py"}, {Path: "link.py"}, {Path: "out.py"}, {Path: "../"}, {Path: "nowhere"}, {Path: "bin.py"}, {Glob: "[a"}} {
		if o, err := ws.Outline(t.Context(), q); err == nil {
			t.Errorf("%+v: no error but %+v", q, o)
		}
	}
	used, err := ws.Used(
		t.Context(),
		[]string{"a.go", "b/b.py", "b/c.py", "d.rs", "hidden.py", "link.py", "nowhere.py"},
		time.Minute,
		5,
	)
	if err != nil || len(used) != 1 || used[0] != (workspace.Used{Path: "a.go", Name: "Shop", Files: 3}) {
		t.Errorf("most used are %+v, %v", used, err)
	}
}

func search(t *testing.T, s Subject) {
	tree := Tree{
		".gitignore": "skip/\n", "skip/a.go": "func Needle()", "bin.dat": "Needle\x00", "a.go": "package a\n\nfunc Needle() {}\n// end\n",
		"sub/b.go": "// Needle one\n// Needle two\n", "sub/c.txt": "needle (lower)\r\n", "min.js": strings.Repeat("x", 5000) + "Needle" + strings.Repeat("y", 5000),
	}
	for i := range 50 {
		tree[fmt.Sprintf("many/%02d.txt", i)] = "common\ncommon\n"
	}
	ws := Open(t, s, tree)
	ctx := t.Context()
	hit := func(n int, text string) workspace.MatchLine { return workspace.MatchLine{N: n, Text: text, Hit: true} }
	ctxLine := func(n int, text string) workspace.MatchLine { return workspace.MatchLine{N: n, Text: text} }
	tests := []struct {
		name string
		q    workspace.Query
		want []workspace.FileMatches
	}{
		{"text with glob", workspace.Query{Pattern: "Needle", Glob: "*.go"}, []workspace.FileMatches{
			{Path: "a.go", Lines: []workspace.MatchLine{hit(3, "func Needle() {}")}},
			{Path: "sub/b.go", Lines: []workspace.MatchLine{hit(1, "// Needle one"), hit(2, "// Needle two")}}}},
		{"context", workspace.Query{Pattern: "func", Context: 1, Glob: "**/*.go"}, []workspace.FileMatches{
			{Path: "a.go", Lines: []workspace.MatchLine{ctxLine(2, ""), hit(3, "func Needle() {}"), ctxLine(4, "// end")}}}},
		{"text is not a pattern", workspace.Query{Pattern: "(lower)", Path: "sub"}, []workspace.FileMatches{
			{Path: "sub/c.txt", Lines: []workspace.MatchLine{hit(1, "needle (lower)")}}}},
		{"regex", workspace.Query{Pattern: `^func \w+\(\)`, Regex: true}, []workspace.FileMatches{
			{Path: "a.go", Lines: []workspace.MatchLine{hit(3, "func Needle() {}")}}}},
		{"regex without a fixed part", workspace.Query{Pattern: `(?i)^NEEDLE\s\(.*\)$`, Regex: true}, []workspace.FileMatches{
			{Path: "sub/c.txt", Lines: []workspace.MatchLine{hit(1, "needle (lower)")}}}},
		{"one file", workspace.Query{Pattern: "two", Path: "sub/b.go"}, []workspace.FileMatches{
			{Path: "sub/b.go", Lines: []workspace.MatchLine{hit(2, "// Needle two")}}}},
		{"nothing", workspace.Query{Pattern: "absent"}, []workspace.FileMatches{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := ws.Search(ctx, tt.q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, m.Files); diff != "" {
				t.Errorf("matches (-want +got):\n%s", diff)
			}
		})
	}
	m, err := ws.Search(ctx, workspace.Query{Pattern: "common", Max: 31})
	if err != nil || m.Left != 69 || len(m.Files) != 16 || m.Files[15].Path != "many/15.txt" ||
		len(m.Files[15].Lines) != 1 {
		t.Errorf("capped search: %d files, %d left, %v", len(m.Files), m.Left, err)
	}
	m, err = ws.Search(ctx, workspace.Query{Pattern: "Needle", Glob: "min.js"})
	if err != nil || len(m.Files) != 1 || len(m.Files[0].Lines[0].Text) > 1100 ||
		!strings.Contains(m.Files[0].Lines[0].Text, "xNeedley") {
		t.Errorf("search in a long line: %+v, %v", m, err)
	}
	for _, q := range []workspace.Query{{Pattern: ""}, {Pattern: "(", Regex: true}, {Pattern: "x", Glob: "[a"}, {Pattern: "x", Path: "missing"}} {
		if _, err := ws.Search(ctx, q); err == nil {
			t.Errorf("search %+v: no error", q)
		}
	}
}

func changes(t *testing.T, s Subject) {
	ws := Open(t, s, Tree{
		".gitignore": "*.o\n", "mod.txt": "old\n", "del.txt": "x\n", "same.txt": "x\n", "touch.txt": "x\n", "mode.sh": "x\n", "link": "-> mod.txt",
		"dir/a.txt": "a\n", "dir/b.txt": "b\n", "ren.txt": "r\n", "kept.o": "base\n", "tofile/x": "x\n", "todir": "x\n",
	})
	if cs, err := ws.Changes(t.Context()); err != nil || len(cs) != 0 {
		t.Fatalf("changes of a fresh workspace: %+v, %v", cs, err)
	}
	mustRun(
		t,
		ws,
		`echo newer > mod.txt; rm del.txt; touch touch.txt; chmod 755 mode.sh; ln -sfn same.txt link; rm -r dir; mv ren.txt "ren amed.txt"
echo n > new.txt; echo o > ignored.o; echo changed > kept.o; mkfifo fifo
mkdir -p nested/.git && echo x > nested/.git/config && echo y > nested/y
rm -r tofile todir; echo f > tofile; mkdir todir; echo d > todir/d; printf 'bytes\n' > "$(printf 'caf\351')"; ln -s /etc/passwd newlink; mkdir empty; git init -q . 2>/dev/null; true`,
	)
	cs, err := ws.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cs {
		kind := map[fs.FileMode]string{0: "file", fs.ModeSymlink: "link"}[c.Mode.Type()]
		if c.Mode.Perm()&0o100 != 0 && kind == "file" {
			kind = "exec"
		}
		if c.Path == "touch.txt" {
			continue // may be reported: its content decides
		}
		if c.Why != "" {
			kind = "<" + c.Why + ">"
		}
		got = append(got, string(c.Kind)+" "+kind+" "+c.Path)
	}
	want := []string{
		"create file caf\xe9", "delete file del.txt", "delete file dir/a.txt", "delete file dir/b.txt", "create <a named pipe> fifo", "modify file kept.o", "modify link link",
		"modify file mod.txt", "modify exec mode.sh", "create file nested/y", "create file new.txt", "create link newlink",
		"create file ren amed.txt", "delete file ren.txt", "delete file todir", "create file todir/d", "create file tofile", "delete file tofile/x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for p, text := range map[string]string{"mod.txt": "newer\n", "link": "same.txt", "newlink": "/etc/passwd", "caf\xe9": "bytes\n"} {
		if got := content(t, ws, p); got != text {
			t.Errorf("content of %q: %q, want %q", p, got, text)
		}
	}
}

// written checks that a file that Write made is a change, also if .gitignore covers it, as is
// one that a command moved there, and that an edit of an ignored file that a command made
// says why it is not kept.
func written(t *testing.T, s Subject) {
	ws := Open(t, s, Tree{".gitignore": "lib/\n*.log\n", "old.log": "base\n", "core/a.py": "a = 1\n", "core/__init__.py": "", "core/b.py": "b = 1\n", "b.ts": "b\n", "lib/kept.ts": "kept\n"})
	mustRun(
		t,
		ws,
		"echo made >lib/made.ts; echo made >lib/edited.ts; : >lib/empty.ts; echo x >gone.log; ln -s lib src",
	)
	for _, name := range []string{"lib/new.ts", "lib/edited.ts", "lib/empty.ts", "lib/removed.ts", "lib/moved.ts", "src/linked.ts", "old.log", "plain.txt"} {
		if err := ws.Write(t.Context(), name, []byte("written\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := ws.Remove(t.Context(), "lib/removed.ts"); err != nil {
		t.Fatal(err)
	}
	mustRun(t, ws, "echo again >lib/removed.ts; mv lib/moved.ts lib/to.ts; cp lib/new.ts lib/copy.ts; mv core lib/; "+
		"mkdir lib/x; : >lib/x/__init__.py; echo b >lib/b.ts; echo 'b = 2' >lib/x/b.py; mv lib/kept.ts lib/renamed.ts") // a moved directory, and what only looks like it
	cs, err := ws.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cs {
		got = append(got, fmt.Sprint(c.Kind, " ", c.Path, " ", c.Wrote, map[bool]string{true: " not kept"}[c.Why != ""]))
	}
	want := []string{
		"delete core/__init__.py false", "delete core/a.py false", "delete core/b.py false",
		"create lib/core/__init__.py false", "create lib/core/a.py false", "create lib/core/b.py false",
		"create lib/edited.ts true not kept", "create lib/empty.ts true", "delete lib/kept.ts false", "create lib/linked.ts true", "create lib/new.ts true",
		"create lib/renamed.ts false", "create lib/to.ts true", "modify old.log false",
		"create plain.txt true", "create src false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// layers checks that two stacked bases are seen as one, including deletions.
func layers(t *testing.T, s Subject) {
	below, over := t.TempDir(), t.TempDir()
	Tree{
		"kept.txt":   "kept\n",
		"old.txt":    "old\n",
		"gone.txt":   "gone\n",
		"d/gone.txt": "gone\n",
		"d/kept.txt": "kept\n",
		"all/a":      "a",
		"was-dir/a":  "a",
		"was-file":   "a",
	}.write(
		t,
		below,
	)
	Tree{
		"old.txt":     "new\n",
		"fresh/a.txt": "fresh\n",
		"d/l":         "-> kept.txt",
		"was-dir":     "file\n",
		"was-file/a":  "a\n",
	}.write(
		t,
		over,
	)
	for _, name := range []string{"gone.txt", "d/gone.txt", "all"} {
		if err := syscall.Mknod(filepath.Join(over, name), syscall.S_IFCHR, 0); err != nil {
			t.Skipf("NEEDS mknod: %v", err)
		}
	}
	for _, dir := range []string{below, over} {
		if err := errors.Join(os.Chmod(dir, 0o755), workspace.Give(t.Context(), dir)); err != nil {
			t.Fatal(err)
		}
	}
	ws := OpenSpec(t, s, workspace.Spec{Source: below, Over: over})
	got := mustRun(
		t,
		ws,
		"find . -path ./.git -prune -o -type f -print -o -type l -print | sort; cat old.txt d/l was-dir was-file/a",
	)
	if want := "./d/kept.txt\n./d/l\n./fresh/a.txt\n./kept.txt\n./old.txt\n./was-dir\n./was-file/a\nnew\nkept\nfile\na\n"; got != want {
		t.Errorf("inside is\n%s\nwant\n%s", got, want)
	}
	if cs, err := ws.Changes(t.Context()); err != nil || len(cs) > 0 {
		t.Errorf("changes before any: %+v, %v", cs, err)
	}
	mustRun(t, ws, "echo more >>old.txt; rm d/kept.txt; echo again >gone.txt; rm -r fresh; "+
		"for f in /handrail/base/old.txt /handrail/base/fresh/a.txt; do echo evil >$f; rm -f $f; done 2>/dev/null; true")
	cs, err := ws.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, c := range cs {
		told = append(told, string(c.Kind)+" "+c.Path)
	}
	if want := []string{"delete d/kept.txt", "delete fresh/a.txt", "create gone.txt", "modify old.txt"}; !slices.Equal(told, want) {
		t.Errorf("changes are %q, want %q", told, want)
	}
	for name, want := range map[string]string{filepath.Join(over, "old.txt"): "new\n", filepath.Join(below, "d/kept.txt"): "kept\n", filepath.Join(over, "fresh/a.txt"): "fresh\n"} {
		if data, err := os.ReadFile(name); err != nil || string(data) != want {
			t.Errorf("the base was written to: %s is %q, %v", name, data, err)
		}
	}
}
