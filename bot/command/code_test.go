package command

import "testing"

func TestLabelCode(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"one block", "fix:\n```go\na\nb\n```\nplease", "fix:\n[L]\n```go\na\nb\n```\nplease"},
		{"two blocks", "```\na\nb\n```\n```\nc\nd\n```\n", "[L]\n```\na\nb\n```\n[L]\n```\nc\nd\n```\n"},
		{"one line needs none", "run\n```\ngo test\n```\n", "run\n```\ngo test\n```\n"},
		{"not closed", "see\n~~~\na\nb\nc\n", "see\n[L]\n~~~\na\nb\nc\n"},
		{"no code", "a `b` c\n", "a `b` c\n"},
		{"comments are not code", "<!--\na\nb\nc\nd\n-->\n", "<!--\na\nb\nc\nd\n-->\n"},
		{"empty", "", ""},
	} {
		if got := LabelCode(tt.text, "[L]"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
