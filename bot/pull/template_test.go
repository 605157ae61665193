package pull

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFill(t *testing.T) {
	for _, tt := range []struct{ name, form, want string }{
		{"none", "", "DONE"},
		{"only comments", "<!-- a\nb -->\n\n", "DONE"},
		{"plain words", "Thanks!\n", "DONE\n\nThanks!\n"},
		{"heading", "## What does this do?\n\n## Type of change\n- [ ] fix\n", "## What does this do?\n\nDONE\n\n## Type of change\n- [ ] fix\n"},
		{"bold heading", "**Description:**\n\n**Checklist**\n- [x] read\n", "**Description:**\n\nDONE\n\n**Checklist**\n- [x] read\n"},
		{"type of change only", "## Type of change\n* [ ] fix\n", "DONE\n\n## Type of change\n* [ ] fix\n"},
		{"changes to tick", "## Changes\n1. [ ] fix\n## Summary\nx\n", "## Changes\n1. [ ] fix\n## Summary\n\nDONE\n\nx\n"},
		{"heading in code", "```\n# Summary\n<!-- kept -->\n```\n", "DONE\n\n```\n# Summary\n<!-- kept -->\n```\n"},
		{"comment not closed", "# Summary\n<!-- to the end\n- [ ] a\n", "# Summary\n\nDONE\n"},
		{"issue", "# Summary\n\nFixes #(issue)\n- Closes: #\nFixes #7\n", "# Summary\n\nDONE\n\n#12\n- #12\nFixes #7\n"},
		{"crlf", "\ufeff## Summary\r\n\r\n- [ ] a\r\n", "DONE\n\n## Summary\n\n- [ ] a\n"},
	} {
		if got := fill(tt.form, "DONE", 12); got != tt.want {
			t.Errorf("%s:\n%q\nwant\n%q", tt.name, got, tt.want)
		}
	}
	if got := fill("# Summary\nFixes #\n", "DONE", 0); !strings.Contains(got, "Fixes #\n") {
		t.Errorf("no issue is closed: %q", got)
	}
}

// Of whatever form, the text stands in it once, each box is as it was, in its order, and
// it takes no time.
func TestFillAnyForm(t *testing.T) {
	words := []string{"# Summary", "## Why", "- [ ] tested", "- [x] read", "* [X] done", "<!-- hint -->", "<!-- a", "b -->", "```", "~~~", "**What**", "", "text", "Fixes #", "> quoted", "# ", "    code"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var form []string
		for range r.IntN(14) {
			form = append(form, words[r.IntN(len(words))])
		}
		text := strings.Join(form, "\n")
		got := fill(text, "DONE", 3)
		if strings.Count(got, "DONE") != 1 {
			t.Fatalf("%q\n%q", text, got)
		}
		if strings.Contains(text, "<!--") {
			continue
		}
		if want, is := boxes(text), boxes(got); want != is {
			t.Fatalf("%q has the boxes\n%s\nnot\n%s", text, is, want)
		}
	}
	// What takes the square of such a length does not end within the time of tests.
	fill(strings.Repeat("# a\n", maxForm/4), "DONE", 1)
	fill(strings.Repeat("<!--", maxForm/4), "DONE", 1)
	fill(strings.Repeat("```\n", maxForm/4), "DONE", 1)
}

func boxes(text string) string {
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		if boxRE().MatchString(l) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}
