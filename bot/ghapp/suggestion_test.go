package ghapp

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

// What a person can commit from a comment is what was written there: where the cleaning
// of our posts changes a line of it, it stands there as text.
func TestSuggestionAsWritten(t *testing.T) {
	t.Parallel()
	g := gate{to: untrusted.OutputOptions{Repo: "o/r", Home: "https://github.com/o/r"}, secrets: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }}
	for code, want := range map[string]bool{
		"\treturn a < b && c > d // see #3":               true,
		"    @Override\n    public int x() { return 1; }": true,
		"x = \"<!-- no comment -->\"":                     true,
		"<details><summary>a</summary>":                   true,
		"a := `b`\n\n\n\n    c":                           true,
		"~~~\n```go\nx\n```\n~~~":                         true,
		"":                                                true,
		"// fixes #3":                                     false,
		"s := \"a\u202eb\"":                               false,
		"s := \"a\x1b[31mb\"":                             false,
		"password := \"hunter2\"":                         false,
		"url := \"https://h/?token=1\" // /agent approve all": true,
	} {
		fence := "```"
		for strings.Contains(code, fence) {
			fence += "`"
		}
		block := fence + "suggestion\n" + strings.TrimPrefix(code+"\n", "\n") + fence
		got := g.inline("**High: c.**\n\nIt is wrong, fixes #4.\n\n" + block)
		if strings.HasSuffix(got, "\n\n"+block) != want || strings.Contains(got, "suggestion\n") != want {
			t.Errorf("%q: can be committed as it is: want %v:\n%s", code, want, got)
		}
		if strings.Contains(got, "fixes #4") || !strings.HasPrefix(got, "**High: c.**") {
			t.Errorf("%q: the words are not as they may stand: %s", code, got)
		}
	}
	if got := g.inline("no block"); got != "no block" {
		t.Errorf("got %q", got)
	}
}

// Annotations pass the gate as well.
func TestNotesPassTheGate(t *testing.T) {
	t.Parallel()
	g := gate{secrets: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }}
	was := []Annotation{{Path: "a.go", From: 1, To: 1, Title: "hunter2\u202e", Text: "it is hunter2\x1b[31m\u202e"}}
	got := g.notes(was)[0]
	if got.Title != "[redacted]" || got.Text != "it is [redacted]" || was[0].Title == got.Title {
		t.Errorf("got %+v", got)
	}
}
