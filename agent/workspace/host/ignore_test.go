package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestIgnoreLikeGit holds the matcher against git itself.
func TestIgnoreLikeGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("NEEDS GIT: it is not installed")
	}
	paths := []string{
		"a.txt", "b.log", "sub/b.log", "sub/deep/a.txt", "build/x", "sub/build/x", "doc/a.md", "doc/b/a.md", "x{1}.txt", "#hash", "!bang",
		"trail ", "foo/bar", "q1.c", "q12.c", "r[1].x", "node_modules/p/i.js", "sub/node_modules/i.js", "dir.log/inner", "abc", "a/b/c/d", "a/x/c/d", "a/c/d",
		"A.TXT", "sub/keep.log", "caf\u00e9.txt", "back\\slash",
	}
	for _, tt := range []struct{ name, top, sub string }{
		{"names", "*.log\nbuild\nnode_modules/\n", ""},
		{"anchored", "/build\ndoc/*.md\nfoo/bar\n", ""},
		{"negated", "*.log\n!keep.log\n*.txt\n!a.txt\n", ""},
		{"negated below an excluded directory", "sub/\n!sub/keep.log\n", ""},
		{"nested", "*.log\n", "!b.log\n/deep\n"},
		{"double stars", "**/deep\na/**/d\ndoc/**\n", ""},
		{"double stars alone", "**\n!a.txt\n", ""},
		{"classes", "q[0-9].c\nr\\[1\\].x\nq?2.c\n[!a-z].TXT\n", ""},
		{"escapes", "\\#hash\n\\!bang\n# comment\n\ntrail\\ \nback\\\\slash\n", ""},
		{"trailing blanks", "a.txt   \nabc \n", ""},
		{"braces are plain", "x{1}.txt\n{a,b}.txt\n", ""},
		{"broken class", "[abc\nabc\n", ""},
		{"carriage returns", "*.log\r\nabc\r\n", ""},
		{"middle slash with star", "sub/*/a.txt\na/*/c\n", ""},
		{"directory only", "dir.log/\nabc/\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, p := range append([]string{".gitignore", "sub/.gitignore"}, paths...) {
				at := filepath.Join(dir, p)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				text := map[string]string{".gitignore": tt.top, "sub/.gitignore": tt.sub}[p]
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := gitIgnored(t, git, dir, paths)
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = root.Close() }()
			ig := newIgnores(root, ".gitignore", false)
			for _, p := range paths {
				if got := ig.match(p, false); got != want[p] {
					t.Errorf("%q: ignored %t, git says %t", p, got, want[p])
				}
			}
		})
	}
}

func gitIgnored(t *testing.T, git, dir string, paths []string) map[string]bool {
	t.Helper()
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	cmd := exec.CommandContext(t.Context(), git, "init", "-q", dir)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	cmd = exec.CommandContext(t.Context(), git, "-C", dir, "check-ignore", "-z", "--stdin")
	cmd.Env = env
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := cmd.Output() // exit 1: none is ignored
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("git check-ignore: %v", err)
	}
	ignored := map[string]bool{}
	for p := range strings.SplitSeq(string(out), "\x00") {
		ignored[p] = true
	}
	return ignored
}

func BenchmarkIgnore(b *testing.B) {
	dir := b.TempDir()
	text := strings.Repeat("*.log\n/build/\nnode_modules\n**/gen/*.go\ndoc/[a-z]*.md\n", 10)
	if err := os.WriteFile(filepath.Join(dir, ".agentignore"), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	ig := newIgnores(root, ".agentignore", true)
	ig.match("warm/up", false)
	ig.seal()
	for b.Loop() {
		ig.match("internal/server/handler/handler_test.go", false)
	}
}
