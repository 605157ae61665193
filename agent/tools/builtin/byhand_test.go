package builtin_test

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// texts that edits written by hand change.
const (
	goText = "package a\n\nfunc first(a, b int) int {\n\tx := a\n\tif a < b {\n\t\tx = b\n\t}\n\treturn x\n}\n\n" +
		"func second() string {\n\tname := \"second\"\n\treturn name\n}\n\nfunc third(a int) int {\n\tx := a\n\treturn x * 10\n}\n"
	pyText = "import os\n\n\nclass Cart:\n    def __init__(self):\n        self.items = []\n        self.rate = 0.19\n\n    def add(self, item):\n" +
		"        if item is None:\n            return\n        self.items.append(item)\n\n    def total(self):\n        return sum(self.items) * (1 + self.rate)\n"
	sqlText  = "CREATE TABLE a (\n  id INT,\n  name TEXT\n);\n\nCREATE TABLE b (\n  id INT,\n  size INT,\n  note TEXT\n);\n"
	luaText  = "local M = {}\n\nfunction M.one()\n  local a = 1\n  return a\nend\n\nfunction M.two()\n  local b = 2\n  return b\nend\n\nreturn M\n"
	htmlText = "<ul>\n  <li>one</li>\n  <li>two</li>\n</ul>\n"
	jsText   = "export function f(list) {\n  const out = [];\n  for (const x of list) {\n    out.push(x);\n  }\n  return out;\n}\n"
)

func block2(old, add string) string {
	return "<<<<<<< SEARCH\n" + old + "\n=======\n" + add + "\n>>>>>>> REPLACE\n"
}

// byHand are edits of kinds that nothing here generates, as models of seven billion
// parameters send them, and what a person makes of them. Where want is empty, nobody can
// tell, or the text would be harmed: the answer has the words.
var byHand = []struct {
	name, file, before string
	tool               string
	args               []any
	want               string
	words              string
}{
	{"the old text is all of the function, the new text has a marker for its rest", "a.go", goText, "apply_diff",
		[]any{"diff", block2("func first(a, b int) int {\n\tx := a\n\tif a < b {\n\t\tx = b\n\t}\n\treturn x\n}", "func first(a, b int) int {\n\tx := a + 1\n\t// ... rest of the function unchanged\n}")}, "", "stands for text that is left out"},
	{"a marker of another language in the new text", "a.lua", luaText, "edit_file",
		[]any{"old_string", "function M.one()\n  local a = 1\n  return a\nend", "new_string", "function M.one()\n  local a = 3\n  -- ... existing code ...\nend"}, "", "existing code"},
	{"a marker in a new line of a diff", "a.sql", sqlText, "apply_diff",
		[]any{"diff", "@@ -6,5 +6,4 @@\n CREATE TABLE b (\n-  id INT,\n-  size INT,\n-  note TEXT\n+  id BIGINT,\n+  -- (other columns unchanged)\n );\n"}, "", "other columns unchanged"},
	{"a marker in inserted lines", "a.py", pyText, "insert_content",
		[]any{"line", 14, "content", "    def clear(self):\n        # ... implementation here, same as before ...\n"}, "", "same as before"},
	{"entities in the new text only", "a.go", goText, "apply_diff",
		[]any{"diff", block2("\tif a < b {", "\tif a &lt; b &amp;&amp; b &gt; 0 {")}, "", "HTML entity"},
	{"entities in a page are text", "a.html", htmlText, "edit_file",
		[]any{"old_string", "<li>two</li>", "new_string", "<li>2 &lt; 3</li>"}, strings.Replace(htmlText, "two", "2 &lt; 3", 1), ""},
	{"ends of lines written out", "a.go", goText, "edit_file",
		[]any{"old_string", "\tname := \"second\"", "new_string", `\tname := "second"\n\tprintln(name)`}, "", `has \n where a line is to end`},
	{"ends of lines written out, one line the file's", "a.py", pyText, "edit_file",
		[]any{"old_string", "import os", "new_string", `import os\nimport sys`}, "", `has \n`},
	{"an end of line within quotes is text", "a.go", goText, "edit_file",
		[]any{"old_string", `"second"`, "new_string", `"second\n"`}, strings.Replace(goText, `"second"`, `"second\n"`, 1), ""},
	{"an end of line in a replacement for an expression", "a.py", pyText, "search_and_replace",
		[]any{"use_regex", true, "search", "^import os$", "replace", `import os\nimport sys`}, "", `has \n`},
	{"numbers in the new lines only", "a.go", goText, "apply_diff",
		[]any{"diff", block2("\tname := \"second\"", "12 | \tname := \"2nd\"\n13 | \tprintln(name)")}, "", "line number"},
	{"numbers of cat -n in a range", "a.py", pyText, "apply_diff",
		[]any{"start_line", 6, "end_line", 7, "replace", "     6\t        self.items = []\n     7\t        self.rate = 0.2"}, "", "line number"},
	{"a fence around both strings", "a.go", goText, "edit_file",
		[]any{"old_string", "\tname := \"second\"", "new_string", "```go\n\tname := \"2nd\"\n```"}, "", "code fence"},
	{"the signs of a diff in a block", "a.go", goText, "apply_diff",
		[]any{"diff", block2("\tname := \"second\"", "+\tname := \"2nd\"")}, "", "+ of a diff"},
	{"the end of the call in the text", "a.go", goText, "edit_file",
		[]any{"old_string", "\tname := \"second\"", "new_string", "\tname := \"2nd\"\n</new_string>"}, "", "end of a call"},
	{"a space behind the + that was not behind the context", "a.py", pyText, "apply_diff",
		[]any{"diff", "@@ -5,3 +5,4 @@\n     def __init__(self):\n         self.items = []\n+         self.count = 0\n         self.rate = 0.19\n"}, "", "one space more"},
	{"a file with LF, new text with CRLF", "a.go", goText, "edit_file",
		[]any{"old_string", "name := \"second\"", "new_string", "name := \"2nd\"\r\n\tprintln(name)"}, strings.Replace(goText, "name := \"second\"", "name := \"2nd\"\n\tprintln(name)", 1), ""},
	{"two hunks, the lower one first, the upper one with another place behind", "a.go", goText, "apply_diff",
		[]any{"diff", "@@ -12,1 +12,1 @@\n-\tname := \"second\"\n+\tname := \"2nd\"\n@@ -3,1 +3,1 @@\n-\tx := a\n+\tx := a + 1\n"}, "", "fits in 2 places"},
	{"two hunks, the lower one first, lines right", "a.go", goText, "apply_diff",
		[]any{"diff", "@@ -12,1 +12,1 @@\n-\tname := \"second\"\n+\tname := \"2nd\"\n@@ -4,1 +4,1 @@\n-\tx := a\n+\tx := a + 1\n"},
		strings.Replace(strings.Replace(goText, `"second"`, `"2nd"`, 1), "x := a\n", "x := a + 1\n", 1), ""},
	{"a second block that is for the line that the first one changed", "a.go", goText, "apply_diff",
		[]any{"diff", block2("func first(a, b int) int {\n\tx := a", "func first(a, b int) int {\n\tx := b") + block2("\tx := a", "\tx := 0")}, "", "fits in 2 places"},
	{"strings in a list likewise", "a.go", goText, "edit_file",
		[]any{"edits", []map[string]string{{"old_string": "b int) int {\n\tx := a", "new_string": "b int) int {\n\tx := b"}, {"old_string": "\tx := a", "new_string": "\tx := 0"}}}, "", "before the other edits"},
	{"a text that is only the beginning of a number", "a.go", goText, "edit_file",
		[]any{"old_string", "return x * 1", "new_string", "return x * 2"}, "", "part of a longer word"},
	{"a text that is only a part of a name", "a.py", pyText, "edit_file",
		[]any{"old_string", "ate = 0.19", "new_string", "ate = 0.2"}, "", "part of a longer word"},
	{"a sketch with a bracket more", "a.go", goText, "edit_file",
		[]any{"code_edit", "// ... existing code ...\nfunc second() string {\n\tname := \"2nd\"\n\treturn name\n}\n}\n// ... existing code ...\n"}, "", "ends with"},
	{"a sketch that lacks the last line", "a.go", goText, "edit_file",
		[]any{"code_edit", "// ... existing code ...\nfunc second() string {\n\treturn \"2nd\"\n// ... existing code ...\n"}, "", "func second() string {"},
	{"a range that ends a line early", "a.go", goText, "apply_diff",
		[]any{"start_line", 11, "end_line", 13, "replace", "func second() string {\n\treturn \"2nd\"\n}"}, "", "bracket"},
	{"a range that begins a line late", "a.py", pyText, "apply_diff",
		[]any{"start_line", 10, "end_line", 11, "replace", "    def add(self, item):\n        if not item:\n            return"}, "", "there twice"},
	{"all of the file in a block, one line changed", "a.js", jsText, "apply_diff",
		[]any{"diff", block2(strings.TrimSuffix(jsText, "\n"), strings.TrimSuffix(strings.Replace(jsText, "push(x)", "push(x + 1)", 1), "\n"))}, strings.Replace(jsText, "push(x)", "push(x + 1)", 1), ""},
	{"all of the file as a sketch without a marker", "a.js", jsText, "edit_file",
		[]any{"code_edit", strings.Replace(jsText, "push(x)", "push(x + 1)", 1)}, "", "no marker"},
	{"other quotes in the old text", "a.go", goText, "apply_diff",
		[]any{"diff", block2("\tname := 'second'", "\tname := '2nd'")}, "", "Line 12 is like it"},
	{"two blocks, the lower one first", "a.lua", luaText, "apply_diff",
		[]any{"diff", block2("  local b = 2", "  local b = 20") + block2("  local a = 1", "  local a = 10")}, strings.NewReplacer("a = 1", "a = 10", "b = 2", "b = 20").Replace(luaText), ""},
	{"a bracket more in the old text", "a.js", jsText, "apply_diff",
		[]any{"diff", block2("    out.push(x);\n  }\n  }", "    out.push(x + 1);\n  }")}, "", "does not fit"},
	{"a whole new file in one line", "new.py", "", "write_file",
		[]any{"content", `import os\n\n\ndef main():\n    print(os.getcwd())\n`}, "", `has \n`},
	{"the old text has the end of its line, the new text has none", "a.go", goText, "edit_file",
		[]any{"old_string", "\tname := \"second\"\n", "new_string", "\tname := \"2nd\""}, strings.Replace(goText, `"second"`, `"2nd"`, 1), "one was added"},
	{"a tab written out", "a.go", goText, "edit_file",
		[]any{"old_string", "\tname := \"second\"", "new_string", `\tname := "2nd"`}, "", `has \t or`},
	{"quotes written out", "a.go", goText, "apply_diff",
		[]any{"diff", block2("\treturn name", `	println(\"name\")`+"\n\treturn name")}, "", `\" where`},
	{"typographic quotes in the new text only", "a.py", pyText, "edit_file",
		[]any{"old_string", "            return\n", "new_string", "            raise ValueError(“no item”)\n"}, "", "typographic"},
	{"typographic quotes within a text are meant", "a.py", pyText, "edit_file",
		[]any{"old_string", "            return\n", "new_string", "            raise ValueError(\"“no item”\")\n"}, strings.Replace(pyText, "            return\n", "            raise ValueError(\"“no item”\")\n", 1), ""},
	{"no-break spaces as indentation", "a.py", pyText, "edit_file",
		[]any{"old_string", "        self.rate = 0.19", "new_string", "        self.rate = 0.19\n\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0self.count = 0"}, "", "space of another kind"},
	{"inserted lines with the line beside them", "a.py", pyText, "insert_content",
		[]any{"line", 7, "content", "        self.items = []\n        self.count = 0\n"}, "", "twice"},
	{"a function for its first line", "a.go", goText, "edit_file",
		[]any{"old_string", "func second() string {", "new_string", "func second() string {\n\treturn \"2nd\"\n}"},
		strings.Replace(goText, "func second() string {", "func second() string {\n\treturn \"2nd\"\n}", 1), "that the file does not open. Is that meant?"},
	{"all places, some within words", "a.go", goText, "edit_file",
		[]any{"old_string", "a", "new_string", "first", "replace_all", true}, strings.ReplaceAll(goText, "a", "first"), "are a part of a longer word"},
	{"a lone bracket", "a.go", goText, "apply_diff", []any{"diff", block2("}", "}\n\nfunc fourth() {}")}, "", "places"},
	{"an old text that lost its indentation, in Python", "a.py", pyText, "apply_diff",
		[]any{"diff", block2("if item is None:\nreturn\nself.items.append(item)", "if item is None:\nraise ValueError\nself.items.append(item)")},
		strings.Replace(pyText, "            return\n", "            raise ValueError\n", 1), ""},
}

// TestEditsByHand: each becomes what a person would make of it, or is refused.
func TestEditsByHand(t *testing.T) {
	longtest.Leave(t)
	right, refused := 0, 0
	for _, tt := range byHand {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"keep.txt": "x\n"}
			if tt.before != "" {
				files[tt.file] = tt.before
			}
			b := toolstest.Open(t, files)
			res, err := run(t, b, tt.tool, toolstest.Arguments(append([]any{"path", tt.file}, tt.args...)...))
			got, _, _ := b.WS.ReadAll(t.Context(), tt.file, 0)
			switch {
			case tt.want == "" && err == nil:
				t.Errorf("%s; it is now\n%s", res, got)
			case tt.want == "" && (string(got) != tt.before || !strings.Contains(err.Error(), tt.words)):
				t.Errorf("answer does not say %q: %v\n%s", tt.words, err, got)
			case tt.want != "" && (err != nil || string(got) != tt.want || !strings.Contains(res, tt.words)):
				t.Errorf("answer does not say %q: %v\n%s\ngot\n%s", tt.words, err, res, got)
			case tt.want == "":
				refused++
			default:
				right++
			}
		})
	}
	t.Logf("%d right, %d refused", right, refused)
}
