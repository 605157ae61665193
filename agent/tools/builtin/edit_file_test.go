package builtin_test

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestEditFile(t *testing.T) {
	longtest.Leave(t)
	const before = "func a() {\n\tone()\n}\n\nfunc b() {\n\ttwo()\n\ttwo()\n}\n"
	tests := []struct{ name, args, want string }{
		{"strings", toolstest.Arguments("path", "a.go", "old_string", "one()", "new_string", "1()"), "func a() {\n\t1()\n}\n\nfunc b() {\n\ttwo()\n\ttwo()\n}\n"},
		{"other names", toolstest.Arguments("file", "a.go", "old_str", "one()", "new_str", "1()"), "func a() {\n\t1()\n}\n\nfunc b() {\n\ttwo()\n\ttwo()\n}\n"},
		{"delete", toolstest.Arguments("path", "a.go", "old_string", "\tone()\n", "new_string", ""), "func a() {\n}\n\nfunc b() {\n\ttwo()\n\ttwo()\n}\n"},
		{"all", toolstest.Arguments("path", "a.go", "old_string", "two", "new_string", "2", "replace_all", "true"), "func a() {\n\tone()\n}\n\nfunc b() {\n\t2()\n\t2()\n}\n"},
		{"as many as expected", toolstest.Arguments("path", "a.go", "old_string", "two", "new_string", "2", "expected_replacements", "2"), "func a() {\n\tone()\n}\n\nfunc b() {\n\t2()\n\t2()\n}\n"},
		{"list", `{"path":"a.go","edits":[{"old_string":"one","new_string":"1"},{"oldText":"x","old_string":"1()","new_string":"uno()"}]}`, "func a() {\n\tuno()\n}\n\nfunc b() {\n\ttwo()\n\ttwo()\n}\n"},
		{"sketch", toolstest.Arguments("path", "a.go", "code_edit", "func a() {\n\tone()\n\tthree()\n}\n// ... existing code ...\n"), "func a() {\n\tone()\n\tthree()\n}\n\nfunc b() {\n\ttwo()\n\ttwo()\n}\n"},
		{"sketch in a fence", toolstest.Arguments("target_file", "a.go", "instructions", "add three", "code_edit", "```go\n// ... existing code ...\nfunc b() {\n\tthree()\n}\n```"), "func a() {\n\tone()\n}\n\nfunc b() {\n\tthree()\n}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := toolstest.Open(t, map[string]string{"a.go": before})
			b.Do("edit_file", tt.args)
			b.Is("a.go", tt.want)
		})
	}
	b := toolstest.Open(t, map[string]string{"a.go": before, "c.txt": "x x\nx\n"})
	b.Fails("edit_file", toolstest.Arguments("path", "a.go", "old_string", "two()", "new_string", "2()"), "2 times", "line 6", "line 7")
	b.Fails("edit_file", toolstest.Arguments("path", "c.txt", "old_string", "x", "new_string", "y"), "3 times:\n  line 1, at the beginning of the file\n  line 2, after", "replace_all")
	b.Fails("edit_file", toolstest.Arguments("path", "a.go", "old_string", "three()", "new_string", "2()"), "a.go", "not fit")
	b.Fails("edit_file", toolstest.Arguments("path", "a.go", "old_string", "one"), `missing argument "new_string"`, "A correct call")
	b.Fails("edit_file", toolstest.Arguments("path", "a.go"), `missing argument "old_string"`)
	b.Fails("edit_file", toolstest.Arguments("path", "a.go", "old_string", "one", "new_string", "one"), "the same")
	b.Fails("edit_file", toolstest.Arguments("path", "x/a.goo", "old_string", "one", "new_string", "1"), "not exist", "did you mean a.go")
	b.Fails("edit_file", `{"path":"a.go","edits":[{"old_string":"one","new_string":"1"},{"old_string":"nope nope","new_string":"x"}]}`, "edit 2 of 2", "nothing was changed")
	b.Fails("edit_file", toolstest.Arguments("path", "a.go", "code_edit", "func a() {\n"), "no marker")
	b.Fails("edit_file", toolstest.Arguments("path", "a.go", "code_edit", "// ... existing code ...\nfunc c() {\n}\n// ... existing code ...\n"), "not clear what it replaces", "func c() {")
	b.Fails("edit_file", toolstest.Arguments("path", "a.go", "old_string", "", "new_string", "x"), "empty")
	b.Is("a.go", before)
	b.Do("edit_file", toolstest.Arguments("path", "new.go", "old_string", "", "new_string", "package a\n"))
	b.Is("new.go", "package a\n")
}

func TestInsertContent(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "one\ntwo\n"})
	b.Do("insert_content", toolstest.Arguments("path", "a.txt", "line", "2", "content", "1.5"))
	b.Is("a.txt", "one\n1.5\ntwo\n")
	_, res := b.Do("insert_content", toolstest.Arguments("path", "a.txt", "line_number", 0, "text", "three\n"))
	b.Is("a.txt", "one\n1.5\ntwo\nthree\n")
	toolstest.Contains(t, res.Content, "(+1 −0)")
	b.Do("insert_content", toolstest.Arguments("path", "n.txt", "line", 1, "content", "x\n"))
	b.Is("n.txt", "x\n")
	b.Fails("insert_content", toolstest.Arguments("path", "a.txt", "line", 99, "content", "x"), "has 4 lines", "A correct call")
	b.Fails("insert_content", toolstest.Arguments("path", "a.txt", "line", "here", "content", "x"), `"line" must be a whole number`)
	b.Fails("insert_content", toolstest.Arguments("path", "a.txt", "content", "x"), `missing argument "line"`)
	b.Fails("insert_content", toolstest.Arguments("path", "none.txt", "line", 7, "content", "x"), "not exist")
}

func TestSearchAndReplace(t *testing.T) {
	longtest.Leave(t)
	tests := []struct{ name, before, args, want string }{
		{"literal", "a.b a.b\naxb\n", toolstest.Arguments("path", "f", "search", "a.b", "replace", "$1"), "$1 $1\naxb\n"},
		{"regex", "a1 b2\n", toolstest.Arguments("path", "f", "search", `([a-z])(\d)`, "replace", "$2$1x", "use_regex", true), "1ax 2bx\n"},
		{"dollar signs", "a1\n", toolstest.Arguments("path", "f", "search", `(\d)`, "replace", "$$1 $$HOME ${1} \\1", "use_regex", true), "a$1 $HOME 1 1\n"},
		{"regex with backslash groups", "a1\n", toolstest.Arguments("path", "f", "search", `([a-z])(\d)`, "replace", `\2\1`, "regex", "true"), "1a\n"},
		{"line anchors", "a\nb\n", toolstest.Arguments("path", "f", "search", `^`, "replace", "> ", "use_regex", true, "end_line", 1), "> a\nb\n"},
		{"ignore case", "Foo foo FOO\n", toolstest.Arguments("path", "f", "search", "foo", "replace", "x", "ignore_case", true), "x x x\n"},
		{"range", "x\nx\nx\n", toolstest.Arguments("path", "f", "search", "x", "replace", "y", "start_line", 2, "end_line", 2), "x\ny\nx\n"},
		{"CRLF", "a\r\nb\r\nc\r\n", toolstest.Arguments("path", "f", "search", "a\nb", "replace", "x\ny"), "x\r\ny\r\nc\r\n"},
		{"delete", "abc\n", toolstest.Arguments("path", "f", "search", "b", "replace", ""), "ac\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := toolstest.Open(t, map[string]string{"f": tt.before})
			b.Do("search_and_replace", tt.args)
			b.Is("f", tt.want)
		})
	}
	b := toolstest.Open(t, map[string]string{"f": "x x\n"})
	b.Fails("search_and_replace", toolstest.Arguments("path", "f", "search", "y", "replace", "z"), "not found")
	for _, with := range []string{"$2", "$HOME/x", "${HOME}", `\9`, "$1$9x"} {
		b.Fails("search_and_replace", toolstest.Arguments("path", "f", "search", "([a-z])", "replace", with, "use_regex", true), "$$ for a dollar sign")
	}
	b.Fails("search_and_replace", toolstest.Arguments("path", "f", "search", "(", "replace", "z", "use_regex", true), "not a regular expression")
	b.Fails("search_and_replace", toolstest.Arguments("path", "f", "search", "x", "replace", "z", "expected_count", 1), "2 times, not 1")
	b.Fails("search_and_replace", toolstest.Arguments("path", "f", "search", "x"), `missing argument "replace"`)
	_, res := b.Do("search_and_replace", toolstest.Arguments("path", "f", "search", "x", "replace", "z", "expected_count", 2))
	toolstest.Contains(t, res.Content, "Replaced 2 occurrences")
}

func TestDeleteFile(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "bye\n", "b.bin": "\x00\x01", "d/x": "", "l@": "a.txt"})
	action, res := b.Do("delete_file", toolstest.Arguments("path", "a.txt"))
	toolstest.Contains(t, action.Display, "--- a/a.txt\n+++ /dev/null\n", "-bye\n")
	toolstest.Contains(t, res.Content, "Deleted a.txt (+0 −1)")
	action, _ = b.Do("delete_file", toolstest.Arguments("path", "b.bin"))
	toolstest.Contains(t, action.Display, "binary, 2 bytes, sha256")
	action, _ = b.Do("delete_file", toolstest.Arguments("path", "d/x"))
	toolstest.Contains(t, action.Display, "delete the empty file d/x")
	b.Fails("delete_file", toolstest.Arguments("path", "a.txt"), "not exist")
	b.Fails("delete_file", toolstest.Arguments("path", "."), "")
}
