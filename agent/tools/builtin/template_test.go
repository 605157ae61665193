package builtin_test

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
)

// A complaint shows the call as it is to be sent, with what was right in it.
func TestComplaintShowsTheCall(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"sub/b.txt": "one\n"})
	for _, tt := range [][3]string{
		{"write_file", toolstest.Arguments("path", "sub/b.txt"), `"arguments":{"path":"sub/b.txt","content":`},
		{"write_file", toolstest.Arguments("path", "sub/b.txt", "content", "new", "mode", "append"), `"arguments":{"path":"sub/b.txt","content":"new"}`},
		{"edit_file", toolstest.Arguments("path", "sub/b.txt", "old_string", "one"), `"arguments":{"path":"sub/b.txt","old_string":"one","new_string":`},
		{"insert_content", toolstest.Arguments("path", "sub/b.txt", "line", 99, "content", "two\n"), `"arguments":{"path":"sub/b.txt","line":1,"content":"two\n"}`},
		{"apply_diff", toolstest.Arguments("path", "sub/b.txt"), `"arguments":{"path":"sub/b.txt","diff":"<<<<<<< SEARCH`},
	} {
		b.Fails(tt[0], tt[1], "A correct call", tt[2])
	}
}
