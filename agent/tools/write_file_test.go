package tools_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

func TestWriteFile(t *testing.T) {
	b := open(t, map[string]string{"a.txt": "one\ntwo\n", "crlf.txt": "one\r\ntwo\r\n", "bom.txt": "\uFEFFone\n"})
	action, res := b.do("write_file", arguments("path", "a.txt", "content", "one\n2\n"))
	if action.Kind != policy.Write || !cmp.Equal(action.Paths, []string{"a.txt"}) || action.Tool != "write_file" {
		t.Errorf("intent is %+v", action)
	}
	if want := "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"; action.Display != want {
		t.Errorf("shown is\n%s", action.Display)
	}
	if want := []session.FileChange{{Path: "a.txt", Kind: "modify", Added: 1, Removed: 1}}; !cmp.Equal(res.Changes, want) {
		t.Errorf("changes are %+v", res.Changes)
	}
	contains(t, res.Content, "Changed a.txt (+1 −1)")
	b.is("a.txt", "one\n2\n")

	action, res = b.do("create_file", arguments("file_path", "new/dir/b.txt", "contents", "hello"))
	contains(t, action.Display, "--- /dev/null\n+++ b/new/dir/b.txt\n", "+hello\n\\ No newline")
	contains(t, res.Content, "Created new/dir/b.txt (+1 −0)")
	b.is("new/dir/b.txt", "hello")

	b.do("write_to_file", arguments("filePath", "crlf.txt", "content", "```\none\nthree\n```"))
	b.is("crlf.txt", "one\r\nthree\r\n")
	b.do("write_file", arguments("file", "bom.txt", "content", "1 | one\n2 | two"))
	b.is("bom.txt", "\uFEFFone\ntwo\n")
	b.do("write_file", `{"path":"x.json","content":{"b":1,"a":[true]}}`)
	b.is("x.json", "{\n  \"b\": 1,\n  \"a\": [\n    true\n  ]\n}\n")
	b.do("write_file", `{"path":"l.txt","content":["a","b"]}`)
	b.is("l.txt", "a\nb")
	b.do("write_file", `{"path":"n.txt","content":42}`)
	b.is("n.txt", "42")
	b.do("write_file", `{"path":"empty.txt","content":""}`)
	b.is("empty.txt", "")
}

func TestWriteFileSame(t *testing.T) {
	b := open(t, map[string]string{"a.txt": "one\n"})
	action, res := b.do("write_file", arguments("path", "a.txt", "content", "one"))
	contains(t, action.Display, "no change: a.txt")
	contains(t, res.Content, "already has exactly this content")
	if len(res.Changes) > 0 {
		t.Errorf("changes are %+v", res.Changes)
	}
}

func TestWriteFileRefuses(t *testing.T) {
	old := strings.Repeat("line\n", 30)
	b := open(t, map[string]string{"a.go": old, "d/x.txt": "x\n", ".agentignore": "secret*\n", "secret.txt": "s\n"})
	b.fails("write_file", arguments("path", "a.go", "content", "package a\n// rest of code unchanged\n"), "nothing was written", "line 2", "rest of code unchanged", "apply_diff")
	b.fails("write_file", arguments("path", "a.go", "content", "\n\n"), "blank")
	b.fails("write_file", arguments("content", "x"), `missing argument "path"`, `A correct call: {"name":"write_file"`)
	b.fails("write_file", arguments("path", "a.go"), `missing argument "content"`, "A correct call")
	b.fails("write_file", arguments("path", "a.go", "content", "x", "mode", "append"), `unknown argument "mode"`, "path, content", "A correct call")
	b.fails("write_file", arguments("path", "a.go", "file", "b.go", "content", "x"), "given twice")
	b.fails("write_file", arguments("path", "../a.go", "content", "x"), "outside")
	b.fails("write_file", arguments("path", "/etc/passwd", "content", "x"), "outside")
	b.fails("write_file", arguments("path", "d", "content", "x"), "directory")
	b.fails("write_file", arguments("path", "", "content", "x"), `"path" is empty`)
	b.fails("write_file", arguments("path", "secret.txt", "content", "x"), "agentignore")
	b.fails("write_file", arguments("path", "n.txt", "content", "a\x00b"), "NUL")
	b.fails("write_file", `[1,2]`, "not a JSON object")
	b.is("a.go", old)
}

// TestShownIsWritten checks the promise behind approvals: when the file
// changes after the intent, the intent of the same call changes too.
func TestShownIsWritten(t *testing.T) {
	b := open(t, map[string]string{"a.txt": "one\ntwo\n"})
	for _, c := range []struct{ tool, args string }{
		{"write_file", arguments("path", "a.txt", "content", "new\n")},
		{"edit_file", arguments("path", "a.txt", "old_string", "two", "new_string", "2")},
		{"apply_diff", arguments("path", "a.txt", "diff", "@@\n-two\n+2\n")},
		{"insert_content", arguments("path", "a.txt", "line", 1, "content", "zero")},
		{"search_and_replace", arguments("path", "a.txt", "search", "two", "replace", "2")},
		{"delete_file", arguments("path", "a.txt")},
	} {
		t.Run(c.tool, func(t *testing.T) {
			if err := b.ws.Write(t.Context(), "a.txt", []byte("one\ntwo\n")); err != nil {
				t.Fatal(err)
			}
			first, err := b.tool(c.tool).Intent(t.Context(), call(c.tool, c.args))
			if err != nil {
				t.Fatal(err)
			}
			b.is("a.txt", "one\ntwo\n") // an intent changes nothing
			if err := b.ws.Write(t.Context(), "a.txt", []byte("other\none\ntwo\n")); err != nil {
				t.Fatal(err)
			}
			second, err := b.tool(c.tool).Intent(t.Context(), call(c.tool, c.args))
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
	b := open(t, map[string]string{"run.sh": "#!/bin/sh\n"})
	if err := os.Chmod(filepath.Join(b.ws.Root(), "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.do("write_file", arguments("path", "run.sh", "content", "#!/bin/sh\necho\n"))
	_, mode, err := b.ws.ReadAll(t.Context(), "run.sh", 0)
	if err != nil || mode.Perm() != fs.FileMode(0o755) {
		t.Errorf("mode is %v (%v)", mode, err)
	}
}

func TestWriteBinaryReplaced(t *testing.T) {
	b := open(t, map[string]string{"a.bin": "a\x00b"})
	action, _ := b.do("write_file", arguments("path", "a.bin", "content", "text\n"))
	contains(t, action.Display, "binary, 3 bytes, sha256", "+text")
	b.is("a.bin", "text\n")
}
