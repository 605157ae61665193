package builtin_test

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// An edit of one line with a wrong character is answered with the line that is meant,
// and with what differs.
func TestOneWrongCharacter(t *testing.T) {
	longtest.Leave(t)
	b := toolstest.Open(t, map[string]string{"a.go": "package a\n\nfunc f(a, b int) int {\n\treturn a - b // größer\n}\n\nfunc g() {}\n", "long.txt": strings.Repeat("some line of text that is like many\n", 30000)})
	for _, tt := range [][3]string{
		{"\treturn a + b", "Line 4", `the file has "-" where you have "+"`},
		{"retrun a - b", "Line 4", `"ur" where you have "ru"`},
		{"func g() [}", "Line 7", `the file has "{" where you have "["`},
		{"func f(a, c int) int {", "Line 3", `behind "func f(a, " the file has "b" where you have "c"`},
		{"a - b // großer", "Line 4", `"ö" where you have "o"`},
	} {
		b.Fails("edit_file", toolstest.Arguments("path", "a.go", "old_string", tt[0], "new_string", "x"), tt[1], tt[2])
		b.Fails("apply_diff", toolstest.Arguments("path", "a.go", "diff", "<<<<<<< SEARCH\n"+tt[0]+"\n=======\nx\n>>>>>>> REPLACE"), tt[1], tt[2])
	}
	b.Fails("edit_file", toolstest.Arguments("path", "a.go", "old_string", "nothing of this is anywhere", "new_string", "x"), "Nothing in the file is like them")
	b.Fails("edit_file", toolstest.Arguments("path", "long.txt", "old_string", "som line of text that is lkie", "new_string", "x"), "lines are not in the file")
}
