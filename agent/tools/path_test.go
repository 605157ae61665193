package tools_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaths(t *testing.T) {
	b := open(t, map[string]string{"src/a.txt": "a\n", "demo.txt": "d\n"})
	for _, p := range []string{"src/a.txt", "./src/a.txt", "src//a.txt", "src/../src/a.txt", " src/a.txt ", "`src/a.txt`",
		"/workspace/src/a.txt", b.ws.Root() + "/src/a.txt", "file:///workspace/src/a.txt", "demo-project/src/a.txt", `src\a.txt`} {
		action, res := b.do("read_file", arguments("path", p))
		if !cmp.Equal(action.Paths, []string{"src/a.txt"}) {
			t.Errorf("%s means %q", p, action.Paths)
		}
		contains(t, res.Content, "1 | a")
	}
	for _, p := range []string{"..", "../x", "src/../../x", "/etc/passwd", "/workspace/../etc/passwd", "/workspacex/a", "~/x", "~"} {
		b.fails("read_file", arguments("path", p), "outside")
	}
	b.fails("read_file", arguments("path", "a\x00b"), "invalid")
}

// TestFolderName checks the existence test: the folder's name in front is
// dropped only when the root has nothing of that name.
func TestFolderName(t *testing.T) {
	b := open(t, map[string]string{"a.txt": "a\n"})
	action, _ := b.do("write_file", arguments("path", "demo-project/new.txt", "content", "x"))
	if !cmp.Equal(action.Paths, []string{"new.txt"}) {
		t.Errorf("without such a folder it means %q", action.Paths)
	}
	b = open(t, map[string]string{"demo-project/a.txt": "inner\n", "a.txt": "outer\n"})
	action, _ = b.do("write_file", arguments("path", "demo-project/a.txt", "content", "x\n"))
	if !cmp.Equal(action.Paths, []string{"demo-project/a.txt"}) {
		t.Errorf("with such a folder it means %q", action.Paths)
	}
	b.is("a.txt", "outer\n")
	_, res := b.do("list_files", arguments("path", "demo-project"))
	contains(t, res.Content, "demo-project/a.txt")
}

// TestSymlinks checks that an edit through a symlink names the file that it
// changes, so that the policy judges that one.
func TestSymlinks(t *testing.T) {
	b := open(t, map[string]string{".github/workflows/ci.yml": "on: push\n", "innocent.txt@": ".github/workflows/ci.yml",
		"d@": ".github/workflows", "out@": "/etc/hostname", "up@": "../x", "loop@": "loop", "dd@": "d"})
	for _, p := range []string{"innocent.txt", "d/ci.yml", "dd/ci.yml"} {
		action, err := b.tool("write_file").Intent(t.Context(), call("write_file", arguments("path", p, "content", "on: issues\n")))
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(action.Paths, []string{".github/workflows/ci.yml"}) {
			t.Errorf("%s is said to be %q", p, action.Paths)
		}
		contains(t, action.Display, "b/.github/workflows/ci.yml")
	}
	action, err := b.tool("write_file").Intent(t.Context(), call("write_file", arguments("path", "dd/new.yml", "content", "x\n")))
	if err != nil || !cmp.Equal(action.Paths, []string{".github/workflows/new.yml"}) {
		t.Errorf("a new file through a symlink is said to be %q (%v)", action.Paths, err)
	}
	b.fails("write_file", arguments("path", "out", "content", "x"), "outside")
	b.fails("write_file", arguments("path", "up", "content", "x"), "outside")
	b.fails("write_file", arguments("path", "loop", "content", "x"), "symlinks")
	b.do("edit_file", arguments("path", "innocent.txt", "old_string", "push", "new_string", "pull_request"))
	b.is(".github/workflows/ci.yml", "on: pull_request\n")
	b.do("delete_file", arguments("path", "innocent.txt"))
	b.is(".github/workflows/ci.yml", "on: pull_request\n")
}
