package prose

import (
	"strings"
	"testing"
)

const bye = "\n\ndef bye(name):\n    return \"Bye, \" + name\n"

// TestBare: edits are read that stand outside of fences, under other marks, or as two blocks of which
// the first quotes the lines that the second replaces.
func TestBare(t *testing.T) {
	t.Parallel()
	const (
		head   = "def greet(name):\n    \"\"\"Return a greeting.\"\"\"\n"
		old    = "    return \"Helo, \" + name\n"
		put    = "    return \"Hello, \" + name\n"
		blocks = searchMark + "\n" + old + "=======\n" + put + replaceMark + "\n"
		whole  = head + put + bye
		diff   = "--- a/src/greet.py\n+++ b/src/greet.py\n@@ -3 +3 @@\n-" + old + "+" + put
		fence  = "```"
	)
	view := View{{Path: "src/greet.py", Text: head + old + bye}, {Path: "README.md", Text: "# Greet\n\nSay it.\n"}}
	code := func(s string) string { return fence + "python\n" + s + fence + "\n" }
	for _, tt := range []struct{ name, say, path, want string }{
		{"lines by lines", "In `src/greet.py`, replace\n" + code(old) + "with\n" + code(put), "src/greet.py", blocks},
		{"without a path", "Change this line:\n" + code(old) + "to:\n" + code(put), "src/greet.py", blocks},
		{"the path twice", "src/greet.py\n" + code(old) + "src/greet.py\n" + code(put), "src/greet.py", blocks},
		{"lines of elsewhere", "Change this line:\n" + code(old) + "and test it:\n" + code("assert greet('a')\n"), "src/greet.py", old},
		{"other marks", "src/greet.py\n<<<<<<< HEAD\n" + old + "=======\n" + put + ">>>>>>> new\n", "src/greet.py", blocks},
		{"short marks", "src/greet.py\n" + code("<<<< SEARCH\n"+old+"====\n"+put+">>>> REPLACE\n"), "src/greet.py", blocks},
		{"a diff", "I mend it:\n\n" + diff + "\nThat is all.\n", "src/greet.py", diff},
		{"a file", "src/greet.py:\n\n" + whole + "\nThe word was wrong.\n", "src/greet.py", whole},
		{"a file as it is", "It says:\n\n" + head + old + bye, "", ""},
		{"only a name", "def greet(name):\n", "", ""},
		{"how it was", "New:\n" + code(whole) + "Old:\n" + code(head+old+bye), "src/greet.py", whole},
		{"a tag", "<src/greet.py>\n" + code(whole) + "</src/greet.py>\n", "src/greet.py", whole},
		{"a stop word", "src/greet.py\n" + strings.TrimSuffix(code(whole), "\n") + "<|im_end|>", "src/greet.py", whole},
		{
			"a fence in a fence", "README.md\n" + fence + "`markdown\n# Greet\n\n" + fence + "python\ngreet()\n" + fence + "\n" + fence + "`\n",
			"README.md", "# Greet\n\n" + fence + "python\ngreet()\n" + fence + "\n",
		},
	} {
		var path, text string
		cut := false
		got := Parse(tt.say, view)
		for _, a := range got.Acts {
			path, text, cut = path+a.Path, text+a.Text, cut || a.Cut
		}
		if path != tt.path || text != tt.want || cut {
			t.Errorf("%s: %s %q, cut %v, want %s %q", tt.name, path, text, cut, tt.path, tt.want)
		}
	}
	if got := Parse("src/greet.py:\n\n"+whole+"\nThe word was wrong.\n", view); strings.Contains(got.Text, "def ") || !strings.Contains(got.Text, "wrong") {
		t.Errorf("the words are %q", got.Text)
	}
}
