package tools_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
)

// A path in another directory than the only file of its name is taken for that file, for
// reading and for edits, and the model is told. Nothing else is.
func TestNearest(t *testing.T) {
	files := map[string]string{"config.go": "package a\n\nvar x = 1\n", "a/twice.go": "package a\n", "b/twice.go": "package b\n",
		"hidden/key.go": "package key\n", "out/gen.go": "package gen\n", ".agentignore": "hidden/\n", ".gitignore": "out/\n", "src/[id].tsx": "x\n"}
	b := toolstest.Open(t, files)
	const note = "There is no cfg/config.go; config.go is the only file of that name."
	for name, args := range map[string]string{
		"read_file": `{"path":"cfg/config.go","lines":"3"}`, "edit_file": `{"path":"cfg/config.go","old_string":"x = 1","new_string":"x = 2"}`,
		"apply_diff":         toolstest.Arguments("path", "cfg/config.go", "diff", "<<<<<<< SEARCH\nvar x = 2\n=======\nvar x = 3\n>>>>>>> REPLACE"),
		"search_and_replace": `{"path":"cfg/config.go","search":"package","replace":"package"}`, "insert_content": `{"path":"cfg/config.go","line":2,"content":"// c\n"}`,
	} {
		if name == "apply_diff" {
			b.Do("edit_file", `{"path":"config.go","old_string":"x = 1","new_string":"x = 2"}`)
		}
		if name == "search_and_replace" {
			args = `{"path":"cfg/config.go","search":"package a","replace":"package c"}`
		}
		action, res := b.Do(name, args)
		if !cmp.Equal(action.Paths, []string{"config.go"}) || !strings.Contains(res.Content, note) {
			t.Errorf("%s is about %q and says %q", name, action.Paths, res.Content)
		}
		b = toolstest.Open(t, files)
	}
	action, res := b.Do("read_file", `{"path":"pages/[id].tsx"}`)
	if !cmp.Equal(action.Paths, []string{"src/[id].tsx"}) {
		t.Errorf("it reads %q: %s", action.Paths, res.Content)
	}
	action, res = b.Do("write_file", `{"path":"cfg/config.go","content":"package cfg\n"}`)
	if !cmp.Equal(action.Paths, []string{"cfg/config.go"}) || !strings.Contains(res.Content, "Created cfg/config.go") {
		t.Errorf("a new file is %q: %s", action.Paths, res.Content)
	}
	b.Fails("delete_file", `{"path":"x/[id].tsx"}`, "does not exist", "did you mean src/[id].tsx?")
	b.Fails("read_file", `{"path":"c/twice.go"}`, "did you mean a/twice.go or b/twice.go?")
	b.Fails("edit_file", `{"path":"x/key.go","old_string":"a","new_string":"b"}`, "not exist")
	b.Fails("edit_file", `{"path":"x/gen.go","old_string":"a","new_string":"b"}`, "not exist")
	b.Fails("edit_file", `{"path":"pages/[id].tsx","old_string":"not there","new_string":"b"}`, "src/[id].tsx")
}

// A path outside of the workspace names the file in it that may have been meant.
func TestOutsideButInside(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"calc/add.go": "package calc\n", "deep/er/only.txt": "x\n", "hidden.txt": "x\n", ".agentignore": "hidden.txt\n"})
	for p, want := range map[string]string{
		"/home/user/project/calc/add.go": "did you mean calc/add.go?", "/calc/add.go": "did you mean calc/add.go?", "/home/user/only.txt": "did you mean deep/er/only.txt?",
		"/etc/passwd": "outside of the workspace", "../calc/add.go": "outside",
	} {
		b.Fails("read_file", toolstest.Arguments("path", p), "outside", strings.TrimPrefix(want, "outside of the workspace"))
		b.Fails("write_file", toolstest.Arguments("path", p, "content", "x"), "outside")
	}
	tool := b.Tool("read_file")
	if _, err := tool.Intent(t.Context(), toolstest.Call("read_file", `{"path":"/tmp/hidden.txt"}`)); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("a hidden file is told of: %v", err)
	}
}
