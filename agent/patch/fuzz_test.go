package patch_test

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/patch"
)

// FuzzApply checks that a diff takes the text from before to
// after, to the byte, and that Count agrees with it.
func FuzzApply(f *testing.F) {
	for _, s := range [][2]string{
		{"", "a\n"}, {"a\n", ""}, {"a", "a\n"}, {"a\n", "a"}, {"a\nb\n", "a\r\nb\n"}, {"a\r\nb\r\n", "a\nb\n"},
		{"a\r", "a"}, {"a\r\n", "a\r"}, {"\uFEFFa\nb", "a\nb"}, {"-- x\n", "++ y\n"}, {"--- a\n+++ b\n", "@@ -1 +1 @@\n"},
		{"a\n\n\nb\n", "a\n\nb\n"}, {"x\nx\nx\nx\nx\n", "x\nx\nx\nx\n"}, {"\uFEFF", ""}, {"\uFEFFa\n", ""}, {"<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", "y"},
		{strings.Repeat("l\n", 50) + "m\n", "k\n" + strings.Repeat("l\n", 50)}, {"```\n", "```go\n```\n"}, {"\\ No newline\n", " x"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		diff := unified("dir/a.txt", before, after)
		if before == after {
			if diff != "" {
				t.Fatalf("a diff of equal texts: %q", diff)
			}
			return
		}
		got, err := apply(before, diff)
		if err != nil {
			t.Fatalf("apply %q to %q: %v", diff, before, err)
		}
		if got.Text != after {
			t.Fatalf("apply %q to %q: got %q, want %q", diff, before, got.Text, after)
		}
		if len(got.Notes) > 0 {
			t.Fatalf("apply %q to %q needed tolerance: %q", diff, before, got.Notes)
		}
		added, removed := patch.Count(before, after)
		if n := strings.Count(after, "\n") - strings.Count(before, "\n"); added-removed < n-1 || added-removed > n+1 {
			t.Fatalf("count of %q to %q is +%d -%d", before, after, added, removed)
		}
	})
}

// FuzzParse checks that no text makes the package panic, and that what does
// not fit leaves nothing behind.
func FuzzParse(f *testing.F) {
	for _, s := range [][2]string{
		{"a\nb\n", "@@\n a\n-b\n+c\n"}, {"a\n", "<<<<<<< SEARCH\n:start_line:1\n-------\na\n=======\nb\n>>>>>>> REPLACE"},
		{"a\nb\nc\n", "a\n// ... existing code ...\nc\n"}, {"x", "*** Begin Patch\n*** Update File: x\n@@ f\n-x\n+y\n*** End Patch"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, before, edit string) {
		if edits, err := patch.Parse(edit); err == nil {
			for _, e := range edits {
				if out, err := e.Apply(before); err != nil && out.Text != "" {
					t.Fatalf("an edit that failed left %q", out.Text)
				}
			}
		}
		if out, err := patch.Merge(before, edit, ""); err != nil && out.Text != "" {
			t.Fatalf("a merge that failed left %q", out.Text)
		}
		if half := len(edit) / 2; half > 0 {
			_, _, _ = patch.Replace(before, edit[:half], edit[half:], true)
		}
		text, _ := patch.Clean("a.go", before, edit)
		_ = patch.Foreign("a.go", before, text)
		patch.MatchForm(before, text)
	})
}
