package patch

import "testing"

// A text may end in a fence that nothing opened: many a README does.
func TestCleanFenceAtTheEnd(t *testing.T) {
	for _, text := range []string{"# Use\n\n    make\n```\n", "a\n```", "```", "```\n```\n"} {
		for _, name := range []string{"README.md", "a.go", "notes.txt"} {
			if got, _ := Clean(name, "", text); name == "README.md" && got != text {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
	}
}
