package tools_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
)

func TestPaths(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"src/a.txt": "a\n", "demo.txt": "d\n"})
	for _, p := range []string{"src/a.txt", "./src/a.txt", "src//a.txt", "src/../src/a.txt", " src/a.txt ", "`src/a.txt`",
		"/workspace/src/a.txt", b.WS.Root() + "/src/a.txt", "file:///workspace/src/a.txt", "demo-project/src/a.txt", `src\a.txt`} {
		action, res := b.Do("read_file", toolstest.Arguments("path", p))
		if !cmp.Equal(action.Paths, []string{"src/a.txt"}) {
			t.Errorf("%s means %q", p, action.Paths)
		}
		toolstest.Contains(t, res.Content, "1 | a")
	}
	for _, p := range []string{"..", "../x", "src/../../x", "/etc/passwd", "/workspace/../etc/passwd", "/workspacex/a", "~/x", "~"} {
		b.Fails("read_file", toolstest.Arguments("path", p), "outside")
	}
	b.Fails("read_file", toolstest.Arguments("path", "a\x00b"), "invalid")
}

// TestFolderName checks the existence test: the folder's name in front is
// dropped only when the root has nothing of that name.
func TestFolderName(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "a\n"})
	action, _ := b.Do("write_file", toolstest.Arguments("path", "demo-project/new.txt", "content", "x"))
	if !cmp.Equal(action.Paths, []string{"new.txt"}) {
		t.Errorf("without such a folder it means %q", action.Paths)
	}
	b = toolstest.Open(t, map[string]string{"demo-project/a.txt": "inner\n", "a.txt": "outer\n"})
	action, _ = b.Do("write_file", toolstest.Arguments("path", "demo-project/a.txt", "content", "x\n"))
	if !cmp.Equal(action.Paths, []string{"demo-project/a.txt"}) {
		t.Errorf("with such a folder it means %q", action.Paths)
	}
	b.Is("a.txt", "outer\n")
	_, res := b.Do("list_files", toolstest.Arguments("path", "demo-project"))
	toolstest.Contains(t, res.Content, "demo-project/a.txt")
}

// TestSymlinks checks that an edit through a symlink names the file that it
// changes, so that the policy judges that one.
func TestSymlinks(t *testing.T) {
	b := toolstest.Open(t, map[string]string{".github/workflows/ci.yml": "on: push\n", "innocent.txt@": ".github/workflows/ci.yml",
		"d@": ".github/workflows", "out@": "/etc/hostname", "up@": "../x", "loop@": "loop", "dd@": "d"})
	for _, p := range []string{"innocent.txt", "d/ci.yml", "dd/ci.yml"} {
		action, err := b.Tool("write_file").Intent(t.Context(), toolstest.Call("write_file", toolstest.Arguments("path", p, "content", "on: issues\n")))
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(action.Paths, []string{".github/workflows/ci.yml"}) {
			t.Errorf("%s is said to be %q", p, action.Paths)
		}
		toolstest.Contains(t, action.Display, "b/.github/workflows/ci.yml")
	}
	action, err := b.Tool("write_file").Intent(t.Context(), toolstest.Call("write_file", toolstest.Arguments("path", "dd/new.yml", "content", "x\n")))
	if err != nil || !cmp.Equal(action.Paths, []string{".github/workflows/new.yml"}) {
		t.Errorf("a new file through a symlink is said to be %q (%v)", action.Paths, err)
	}
	b.Fails("write_file", toolstest.Arguments("path", "out", "content", "x"), "outside")
	b.Fails("write_file", toolstest.Arguments("path", "up", "content", "x"), "outside")
	b.Fails("write_file", toolstest.Arguments("path", "loop", "content", "x"), "symlinks")
	b.Do("edit_file", toolstest.Arguments("path", "innocent.txt", "old_string", "push", "new_string", "pull_request"))
	b.Is(".github/workflows/ci.yml", "on: pull_request\n")
	b.Do("delete_file", toolstest.Arguments("path", "innocent.txt"))
	b.Is(".github/workflows/ci.yml", "on: pull_request\n")
}
