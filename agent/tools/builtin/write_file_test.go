package builtin_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
)

func TestWriteFile(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "one\ntwo\n", "crlf.txt": "one\r\ntwo\r\n", "bom.txt": "\uFEFFone\n"})
	action, res := b.Do("write_file", toolstest.Arguments("path", "a.txt", "content", "one\n2\n"))
	if action.Kind != policy.Write || !cmp.Equal(action.Paths, []string{"a.txt"}) || action.Tool != "write_file" {
		t.Errorf("intent is %+v", action)
	}
	if want := "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"; action.Display != want {
		t.Errorf("shown is\n%s", action.Display)
	}
	if want := []session.FileChange{{Path: "a.txt", Kind: "modify", Added: 1, Removed: 1}}; !cmp.Equal(res.Changes, want) {
		t.Errorf("changes are %+v", res.Changes)
	}
	toolstest.Contains(t, res.Content, "Changed a.txt (+1 −1)")
	b.Is("a.txt", "one\n2\n")

	action, res = b.Do("create_file", toolstest.Arguments("file_path", "new/dir/b.txt", "contents", "hello"))
	toolstest.Contains(t, action.Display, "--- /dev/null\n+++ b/new/dir/b.txt\n", "+hello\n\\ No newline")
	toolstest.Contains(t, res.Content, "Created new/dir/b.txt (+1 −0)")
	b.Is("new/dir/b.txt", "hello")

	b.Do("write_to_file", toolstest.Arguments("filePath", "crlf.txt", "content", "```\none\nthree\n```"))
	b.Is("crlf.txt", "one\r\nthree\r\n")
	b.Do("write_file", toolstest.Arguments("file", "bom.txt", "content", "1 | one\n2 | two"))
	b.Is("bom.txt", "\uFEFFone\ntwo\n")
	b.Do("write_file", `{"path":"x.json","content":{"b":1,"a":[true]}}`)
	b.Is("x.json", "{\n  \"b\": 1,\n  \"a\": [\n    true\n  ]\n}\n")
	b.Do("write_file", `{"path":"l.txt","content":["a","b"]}`)
	b.Is("l.txt", "a\nb")
	b.Do("write_file", `{"path":"n.txt","content":42}`)
	b.Is("n.txt", "42")
	b.Do("write_file", `{"path":"empty.txt","content":""}`)
	b.Is("empty.txt", "")
}

func TestWriteFileSame(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "one\n"})
	action, res := b.Do("write_file", toolstest.Arguments("path", "a.txt", "content", "one"))
	toolstest.Contains(t, action.Display, "no change: a.txt")
	toolstest.Contains(t, res.Content, "already has exactly this content")
	if len(res.Changes) > 0 {
		t.Errorf("changes are %+v", res.Changes)
	}
}

func TestWriteFileRefuses(t *testing.T) {
	old := strings.Repeat("line\n", 30)
	b := toolstest.Open(t, map[string]string{"a.go": old, "d/x.txt": "x\n", ".agentignore": "secret*\n", "secret.txt": "s\n"})
	b.Fails("write_file", toolstest.Arguments("path", "a.go", "content", "package a\n// rest of code unchanged\n"), "nothing was changed", "rest of code unchanged", "send all of the text")
	b.Fails("write_file", toolstest.Arguments("path", "a.go", "content", "\n\n"), "blank")
	b.Fails("write_file", toolstest.Arguments("content", "x"), `missing argument "path"`, `A correct call: {"name":"write_file"`)
	b.Fails("write_file", toolstest.Arguments("path", "a.go"), `missing argument "content"`, "A correct call")
	b.Fails("write_file", toolstest.Arguments("path", "a.go", "content", "x", "mode", "append"), `unknown argument "mode"`, "path, content", "A correct call")
	b.Fails("write_file", toolstest.Arguments("path", "a.go", "file", "b.go", "content", "x"), "given twice")
	b.Fails("write_file", toolstest.Arguments("path", "../a.go", "content", "x"), "outside")
	b.Fails("write_file", toolstest.Arguments("path", "/etc/passwd", "content", "x"), "outside")
	b.Fails("write_file", toolstest.Arguments("path", "d", "content", "x"), "directory")
	b.Fails("write_file", toolstest.Arguments("path", "", "content", "x"), `"path" is empty`)
	b.Fails("write_file", toolstest.Arguments("path", "secret.txt", "content", "x"), "agentignore")
	b.Fails("write_file", toolstest.Arguments("path", "n.txt", "content", "a\x00b"), "NUL")
	b.Fails("write_file", `[1,2]`, "not a JSON object")
	b.Is("a.go", old)
}

// TestShownIsWritten checks the promise behind approvals: when the file
// changes after the intent, the intent of the same call changes too.
func TestShownIsWritten(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "one\ntwo\n"})
	for _, c := range []struct{ tool, args string }{
		{"write_file", toolstest.Arguments("path", "a.txt", "content", "new\n")},
		{"edit_file", toolstest.Arguments("path", "a.txt", "old_string", "two", "new_string", "2")},
		{"apply_diff", toolstest.Arguments("path", "a.txt", "diff", "@@\n-two\n+2\n")},
		{"insert_content", toolstest.Arguments("path", "a.txt", "line", 1, "content", "zero")},
		{"search_and_replace", toolstest.Arguments("path", "a.txt", "search", "two", "replace", "2")},
		{"delete_file", toolstest.Arguments("path", "a.txt")},
	} {
		t.Run(c.tool, func(t *testing.T) {
			if err := b.WS.Write(t.Context(), "a.txt", []byte("one\ntwo\n")); err != nil {
				t.Fatal(err)
			}
			first, err := b.Tool(c.tool).Intent(t.Context(), toolstest.Call(c.tool, c.args))
			if err != nil {
				t.Fatal(err)
			}
			b.Is("a.txt", "one\ntwo\n") // an intent changes nothing
			if err := b.WS.Write(t.Context(), "a.txt", []byte("other\none\ntwo\n")); err != nil {
				t.Fatal(err)
			}
			second, err := b.Tool(c.tool).Intent(t.Context(), toolstest.Call(c.tool, c.args))
			if err != nil {
				t.Fatal(err)
			}
			if first.Digest() == second.Digest() {
				t.Errorf("the file changed, what is shown did not:\n%s", second.Display)
			}
		})
	}
}

func TestWriteFileKeepsMode(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"run.sh": "#!/bin/sh\n"})
	if err := os.Chmod(filepath.Join(b.WS.Root(), "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Do("write_file", toolstest.Arguments("path", "run.sh", "content", "#!/bin/sh\necho\n"))
	_, mode, err := b.WS.ReadAll(t.Context(), "run.sh", 0)
	if err != nil || mode.Perm() != fs.FileMode(0o755) {
		t.Errorf("mode is %v (%v)", mode, err)
	}
}

func TestWriteBinaryReplaced(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.bin": "a\x00b"})
	action, _ := b.Do("write_file", toolstest.Arguments("path", "a.bin", "content", "text\n"))
	toolstest.Contains(t, action.Display, "binary, 3 bytes, sha256", "+text")
	b.Is("a.bin", "text\n")
}

// A content that is far shorter than the model says was cut off somewhere.
func TestWriteFileCountsUp(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "one\n"})
	with := func(said string) string {
		return `{"path":"a.txt","line_count":` + said + `,"content":"` + strings.Repeat(`line\n`, 60) + `"}`
	}
	b.Fails("write_file", with("200"), "200", "has 60 lines", "complete content")
	b.Fails("write_file", with(`"200"`), "complete content")
	b.Fails("write_file", with(`"many"`), "whole number")
	b.Is("a.txt", "one\n")
	for _, said := range []string{"75", "62", "10", "0", "-1", `""`} {
		b.Do("write_file", with(said))
	}
	b.Is("a.txt", strings.Repeat("line\n", 60))
}
