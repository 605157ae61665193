package patch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/patch"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, file, before, content, want string }{
		{"fence", "a.go", "", "```go\npackage a\n```", "package a\n"},
		{"fence with newline and prose-free blanks", "a.go", "", "\n```\npackage a\n```\n\n", "package a\n"},
		{"fence that only opens", "a.py", "", "```python\nx = 1\n", "x = 1\n"},
		{"two blocks are not one fence", "a.go", "", "```go\na\n```\n```go\nb\n```\n", "```go\na\n```\n```go\nb\n```\n"},
		{"Markdown that begins and ends with code", "a.md", "", "```sh\nmake\n```\n", "```sh\nmake\n```\n"},
		{"Markdown in a Markdown fence", "README.md", "", "```markdown\n# A\n\n```sh\nmake\n```\n\nend\n```\n", "# A\n\n```sh\nmake\n```\n\nend\n"},
		{"text file in a fence", "a.txt", "", "```\nsome text\n```", "some text\n"},
		{"tildes", "a.c", "", "~~~c\nint x;\n~~~\n", "int x;\n"},
		{"line numbers", "a.go", "", "1 | package a\n2 | \n3 | var x int\n", "package a\n\nvar x int\n"},
		{"line numbers, padded, bar without space", "a.go", "", "  9 | a\n 10 |\n 11 | b\n", "a\n\nb\n"},
		{"line numbers in a fence", "a.go", "", "```go\n1 | package a\n2 | var x int\n```\n", "package a\nvar x int\n"},
		{"numbers that do not rise", "a.txt", "", "1 | a\n1 | b\n", "1 | a\n1 | b\n"},
		{"one line without a number", "a.txt", "", "1 | a\nb\n", "1 | a\nb\n"},
		{"the file has numbers itself", "t.txt", "1 | x\n2 | y\n", "1 | x\n2 | z\n", "1 | x\n2 | z\n"},
		{"entities and a bare sign", "a.go", "", "if a < b {\n\ts = \"&lt;\"\n}\n", "if a < b {\n\ts = \"&lt;\"\n}\n"},
		{"entities only in strings", "esc.py", "", "x = y.replace(LT, \"&lt;\")\n", "x = y.replace(LT, \"&lt;\")\n"},
		{"Markdown about entities", "a.md", "", "Write &lt;b&gt; for bold.\n", "Write &lt;b&gt; for bold.\n"},
		{"escaped HTML page", "a.html", "", "&lt;p&gt;x&lt;/p&gt;\n", "<p>x</p>\n"},
		{"HTML text with entities", "a.html", "", "a &lt; b\n", "a &lt; b\n"},
		{"nothing to clean", "a.go", "", "package a\n", "package a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, notes := patch.Clean(tt.file, tt.before, tt.content)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if (len(notes) > 0) != (tt.content != tt.want) {
				t.Errorf("notes are %q", notes)
			}
		})
	}
}

func TestOmission(t *testing.T) {
	old := strings.Repeat("line of the file\n", 20)
	tests := []struct {
		name, file, before, content string
		line                        int
	}{
		{"rest of code unchanged", "a.go", old, "package a\n// rest of code unchanged\n", 2},
		{"existing code", "a.ts", old, "const a = 1;\n// ... existing code ...\n", 2},
		{"python", "a.py", old, "def f():\n    # ... rest of the function remains the same\n", 2},
		{"keep the rest", "a.js", old, "a()\n// Keep the rest of the code the same\n", 2},
		{"remaining methods", "a.java", old, "class A {\n    // ... remaining methods\n}\n", 2},
		{"html", "a.html", old, "<html>\n<!-- rest of the page remains the same -->\n</html>\n", 2},
		{"css", "a.css", old, "/* ... existing styles ... */\n", 1},
		{"jsx", "a.jsx", old, "<div>\n  {/* ... other components ... */}\n</div>\n", 2},
		{"sql", "a.sql", old, "-- previous code remains unchanged\nSELECT 1;\n", 1},
		{"brackets", "a.txt", old, "a\n[... rest of file unchanged ...]\n", 2},
		{"brackets without dots", "a.txt", old, "a\n[rest of the file unchanged]\n", 2},
		{"ellipsis character", "a.go", old, "package a\n// … unchanged …\n", 2},
		{"brevity", "a.rs", old, "// code omitted for brevity\n", 1},
		{"bare dots in a file that shrinks", "a.go", old, "package a\n...\n", 2},
		{"dots in a comment in a file that shrinks", "a.go", old, "package a\n// ...\n", 2},
		{"new file", "a.go", "", "package a\n// ... rest of the implementation here\n", 2},
		{"unchanged alone", "a.go", old, "package a\n// unchanged\n", 2},
		{"unchanged in brackets", "a.go", old, "package a\n// (unchanged)\n", 2},
		{"same as before in brackets", "a.py", old, "# [same as before]\n", 1},
		{"etc.", "a.go", old, "package a\n// etc.\n", 2},
		{"and so on", "a.js", old, "a()\n/* and so on */\n", 2},
		{"a promise, where much is lost", "a.go", old + old, "package a\n// TODO: implement the rest\n", 2},
		{"another", "a.py", old + old, "# Add the remaining handlers here\n", 1},
		{"a promise, where little is lost", "a.go", "a\nb\nc\n", "a\n// TODO: implement the rest\n", 0},
		{"a promise in a new file", "a.go", "", "package a\n\n// TODO: handle the remaining flags.\nfunc a() {}\n", 0},
		{"a promise that was there", "a.go", old + "// TODO: add the other cases\n" + old, "// TODO: add the other cases\n", 0},
		{"etc. in a new file", "a.go", "", "// etc.\n", 0},
		{"etc. behind words", "a.go", old, "// flags, names, etc.\nvar a int\n", 0},
		{"python's own dots", "a.pyi", old, "def f() -> int:\n    ...\n", 0},
		{"the file has the line itself", "a.go", "x\n// ... existing code ...\ny\n", "z\n// ... existing code ...\n", 0},
		{"spread", "a.ts", old, "f(...args)\nconst [a, ...rest] = b\n", 0},
		{"variadic", "a.go", "", "func f(a ...int) {}\n", 0},
		{"a comment about a rest", "a.go", old, "// rest is the part of the path behind the slash\nvar rest string\n", 0},
		{"a comment about code", "a.go", old, "// existing users keep their password\n", 0},
		{"a comment with dots", "a.go", old, "// wait...\n", 0},
		{"a heading", "a.md", old, "# The rest of us\n\ntext\n", 0},
		{"HTML element", "a.html", old, "<p>the rest of the code</p>\n", 0},
		{"dots in a text", "a.md", "", "and so on\n...\n", 0},
		{"a string", "a.go", "", "var s = \"rest of code unchanged\"\n", 0},
		{"the word remaining", "a.go", "", "// remaining is how many bytes are left\n", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := patch.Foreign(tt.file, tt.before, tt.content)
			if (err != nil) != (tt.line > 0) {
				t.Fatalf("got %v, want line %d", err, tt.line)
			}
			if tt.line > 0 {
				toldLine := strings.TrimSpace(strings.Split(tt.content, "\n")[tt.line-1])
				if !strings.Contains(err.Error(), fmt.Sprintf("%q stands for text", toldLine)) {
					t.Errorf("got %v, want line %d", err, tt.line)
				}
			}
		})
	}
}

func TestKeep(t *testing.T) {
	tests := []struct{ name, before, content, want string }{
		{"new file", "", "a\r\nb", "a\r\nb"},
		{"CRLF", "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"},
		{"CRLF given as CRLF", "a\r\nb\r\n", "x\r\ny\r\n", "x\r\ny\r\n"},
		{"LF given as CRLF", "a\nb\n", "x\r\ny\r\n", "x\ny\n"},
		{"mixed stays as given", "a\r\nb\n", "x\ny\n", "x\ny\n"},
		{"byte order mark", "\uFEFFa\n", "b\n", "\uFEFFb\n"},
		{"final newline", "a\n", "b", "b\n"},
		{"final newline, CRLF", "a\r\n", "b", "b\r\n"},
		{"no final newline", "a", "b\n", "b"},
		{"only the final newline changes", "a", "a\n", "a\n"},
		{"the final newline is lost", "a\n", "a", "a\n"},
		{"emptied", "a\n", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := patch.MatchForm(tt.before, tt.content); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestInsertAndReplaceLines(t *testing.T) {
	tests := []struct {
		name, before string
		line         int
		text, want   string
	}{
		{"first", "a\nb\n", 1, "x", "x\na\nb\n"},
		{"middle", "a\nb\n", 2, "x\ny\n", "a\nx\ny\nb\n"},
		{"end", "a\nb\n", 0, "x\n", "a\nb\nx\n"},
		{"behind the last", "a\nb\n", 3, "x\n", "a\nb\nx\n"},
		{"end without newline", "a\nb", 0, "x\n", "a\nb\nx"},
		{"CRLF", "a\r\nb\r\n", 2, "x\n", "a\r\nx\r\nb\r\n"},
		{"empty file", "", 0, "x", "x"},
		{"too far", "a\n", 5, "x", ""},
		{"negative", "a\n", -1, "x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := patch.Insert(tt.before, tt.line, tt.text)
			if got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	if got, err := patch.Lines(2, 3, "x").Apply("a\nb\nc\n"); err != nil || got.Text != "a\nx\n" {
		t.Errorf("replace lines: %q, %v", got.Text, err)
	}
	if _, err := patch.Lines(2, 9, "x").Apply("a\nb\nc\n"); err == nil || !strings.Contains(err.Error(), "3 lines") {
		t.Errorf("replace lines beyond the end: %v", err)
	}
}

func TestUnified(t *testing.T) {
	got := unified("d/a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9")
	want := "--- a/d/a.txt\n+++ b/d/a.txt\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+9\n\\ No newline at end of file\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := patch.UnifiedFile("", "a b\n.txt", "", "x\n"); got != "--- /dev/null\n+++ \"b/a b\\n.txt\"\n@@ -0,0 +1 @@\n+x\n" {
		t.Errorf("a new file is shown as\n%s", got)
	}
}

func TestParseSeveralFiles(t *testing.T) {
	edits, err := patch.Parse("diff --git a/x.go b/x.go\nindex 1..2 100644\n--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n" +
		"diff --git a/old.go b/new.go\nsimilarity index 90%\nrename from old.go\nrename to new.go\n--- a/old.go\n+++ b/new.go\n@@ -1 +1 @@\n-c\n+d\n" +
		"--- a/gone.go\t2024-01-01\n+++ /dev/null\n@@ -1 +0,0 @@\n-e\n--- /dev/null\n+++ b/made.go\n@@ -0,0 +1 @@\n+f\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range edits {
		got = append(got, fmt.Sprintf("%s>%s create=%v delete=%v %d", e.Path, e.To, e.Create, e.Delete, e.Hunks()))
	}
	want := "x.go> create=false delete=false 1|old.go>new.go create=false delete=false 1|gone.go> create=false delete=true 1|made.go> create=true delete=false 1"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	edits, err = patch.Parse("**src/a.py**\n```python\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n\nsrc/b.py\n<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n")
	if err != nil || len(edits) != 2 || edits[0].Path != "src/a.py" || edits[1].Path != "src/b.py" {
		t.Errorf("blocks of two files: %+v, %v", edits, err)
	}
}

// bigFile has n lines, all different.
func bigFile(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\tline %d of the file does something with value %d\n", i, i*7)
	}
	return b.String()
}

func BenchmarkApply(b *testing.B) {
	before := bigFile(1000)
	after := strings.ReplaceAll(before, "value 3500\n", "value 1\n\tanother line\n")
	diff := unified("a.go", before, after)
	blocks := "<<<<<<< SEARCH\n" + "    line 500 of the file does something with value 3500\n" + "=======\n    changed\n>>>>>>> REPLACE\n"
	for name, edit := range map[string]string{"exact": diff, "drifted": strings.Replace(diff, "@@ -4", "@@ -1", 1), "block_indent": blocks} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := apply(before, edit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("unified", func(b *testing.B) {
		for b.Loop() {
			unified("a.go", before, after)
		}
	})
}

// TestHostile runs inputs that are bad for a naive search; a quadratic one
// would take minutes.
func TestHostile(t *testing.T) {
	same := strings.Repeat("x\n", 200_000)
	_, err := apply(same, "@@\n"+strings.Repeat(" x\n", 50_000)+"-y\n+z\n")
	if err == nil {
		t.Error("a hunk was applied whose text is not there")
	}
	if _, err := apply(same, "@@\n-x\n+y\n"); err == nil || !strings.Contains(err.Error(), "200000 places") {
		t.Errorf("200,000 places: %v", err)
	}
	defs := strings.Repeat("func f() {\n}\n", 100_000)
	if _, err := apply(defs, "@@ func f() {\n func f() {\n-}\n+})\n"); err == nil || !strings.Contains(err.Error(), "100000 places") {
		t.Errorf("100,000 definitions: %v", err)
	}
	if _, err := apply(defs, "@@\n"+strings.Repeat(" func f() {\n }\n }\n", 30_000)+"-y\n+z\n"); err == nil {
		t.Error("a hunk was applied whose text is not there")
	}
	if d := unified("a", same, strings.Repeat("y\n", 200_000)); len(d) < 800_000 {
		t.Errorf("diff of %d bytes", len(d))
	}
	if _, err := patch.Parse(strings.Repeat("<<<<<<< SEARCH\n=======\n", 20_000)); err == nil {
		t.Error("blocks that do not close were read")
	}
	a, b := bigFile(30_000), strings.ToUpper(bigFile(30_000))
	if added, removed := patch.Count(a, b); added != 30_000 || removed != 30_000 {
		t.Errorf("count is +%d -%d", added, removed)
	}
}
