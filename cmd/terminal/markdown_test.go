package terminal

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

const answered = "## Two bugs\r\n\r\n" +
	"The loop in `clean up` is **one step too long**, see [the docs](https://example.org/a_b) and https://example.org/.\n" +
	"It is *not* ~~wrong~~ &lt;fine&gt; 3 \\* 4.\n\n" +
	"1. First:\n   - [x] read\n   - [ ] write\n2. Second\n\n" +
	"> quoted\n> twice\n\n" +
	"```go\nfunc f() {\n\treturn\n}\n```\n\n" +
	"| name | n |\n|---|---|\n| a | 1 |\n| long name | 20 |\n\n---\n<b>bold</b>\n"

// The text of an answer is formatted on a terminal with colours only.
func TestMarkdown(t *testing.T) {
	look := Look{Width: 60, Colour: true}
	want := `  │ Two bugs
  │
  │ The loop in clean up is one step too long, see the docs
  │ (https://example.org/a_b) and https://example.org/. It
  │ is not wrong <fine> 3 * 4.
  │
  │ 1. First:
  │    • ☑ read
  │    • ☐ write
  │ 2. Second
  │
  │ ▏ quoted twice
  │
  │   func f() {
  │       return
  │   }
  │
  │ name      │ n
  │ ──────────────
  │ a         │ 1
  │ long name │ 20
  │
  │ ────────────────────────────────────────
  │
  │ <b>bold</b>`
	got := look.markdown(answered)
	var lines []string
	for line := range strings.Lines(ansi.Strip(got)) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
		t.Error(diff)
	}
	for _, styled := range []string{
		"\x1b[1mTwo\x1b[0m \x1b[1mbugs\x1b[0m", "\x1b[36mclean\x1b[0m \x1b[36mup\x1b[0m", "\x1b[1mstep\x1b[0m",
		"\x1b[4mthe\x1b[0m", "\x1b[3mnot\x1b[0m", "\x1b[9mwrong\x1b[0m", "\x1b[1mname\x1b[0m",
	} {
		if !strings.Contains(got, styled) {
			t.Errorf("%q is missing in %q", styled, got)
		}
	}
	for _, other := range []Look{{}, {Width: 60}} {
		if got := other.markdown("## A `b`"); got != "  │ ## A `b`" {
			t.Errorf("without colours: %q", got)
		}
	}
}

// No text of the model, as an entity or a byte, is a control code or a line of its own.
func TestMarkdownIsInert(t *testing.T) {
	codes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	const bad = "\x1b[2J\u202e\r✔ done\x07&#27;[2J&#10;✔ done&#x202e;"
	look := Look{Width: 50, Colour: true}
	for _, s := range []string{
		bad, "# " + bad, "`" + bad + "`", "```" + bad + "\n" + bad + "\n```", "    " + bad, "- " + bad, "> " + bad, "**" + bad + "**",
		"[" + bad + "](https://e.org/" + bad + ")", "[a](<b&#27;[2J>)", "![" + bad + "](x)", "<b " + bad + ">", "<div>\n" + bad,
		"|" + bad + "|b|\n|---|---|\n|" + bad + "|" + bad + "|", "https://e.org/" + bad, "<https://e.org/&#27;[2J>", "[" + bad + "]: x \"" + bad + "\"\n[" + bad + "]",
		strings.Repeat("> ", 500) + bad, strings.Repeat("- ", 300) + bad, strings.Repeat("*", 3000) + bad,
	} {
		got := codes.ReplaceAllString(look.markdown(s), "")
		if strings.ContainsAny(got, "\x1b\r\a\u202e") {
			t.Errorf("%q has control characters: %q", s, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if !strings.HasPrefix(line, strings.TrimRight(bar, " ")) {
				t.Errorf("%.80q has a line without a bar: %q", s, line)
			}
			if len(s) < 200 && ansi.StringWidth(line) > look.Width {
				t.Errorf("%q has a line of %d columns: %q", s, ansi.StringWidth(line), line)
			}
		}
	}
}
