package terminal

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Look has the abilities of a terminal. The zero value is a pipe: plain lines of any
// length.
type Look struct {
	Width  int        // columns; 0 means unlimited
	Colour bool       //
	Live   bool       // the last lines can be overwritten
	size   func() int // returns the current width; nil if it is fixed
}

// LookOf returns the abilities of standard output: plain lines if it is no terminal or a
// dumb one, and no colour if NO_COLOR is set.
func LookOf(out io.Writer) Look {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Look{}
	}
	size := func() int {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
		return 80
	}
	if kind := os.Getenv("TERM"); kind == "" || kind == "dumb" { //control:terminal-dumb
		return Look{Width: size()}
	}
	return Look{Width: size(), Colour: os.Getenv("NO_COLOR") == "", Live: true, size: size}
}

// IsPerson reports whether in is a terminal.
func IsPerson(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// tone is the colour of a text.
type tone string

const (
	plain  tone = ""
	dim    tone = "2"
	bold   tone = "1"
	red    tone = "31"
	green  tone = "32"
	yellow tone = "33"
	cyan   tone = "36"
)

// in colours a text that is trusted or escaped.
func (l Look) in(c tone, s string) string {
	if !l.Colour || c == plain || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// line truncates a text to one line: foreign text must not wrap into a line of its own.
func (l Look) line(s string) string { return l.fit(s, 0) }

// fit truncates a text to a line that has room for more columns after it.
func (l Look) fit(s string, more int) string {
	if l.Width > 0 {
		s = ansi.Truncate(s, max(l.Width-1-more, 10), "…")
	}
	return s
}

// typing shows the end of a line that is being typed.
func (l Look) typing(s string) string {
	s = untrusted.EscapeLine(s)
	if over := ansi.StringWidth(s) + 5 - l.Width; l.Width > 0 && over > 0 {
		s = "…" + ansi.TruncateLeft(s, over+1, "")
	}
	return l.in(bold, "> ") + s + l.in(dim, "▏")
}

// bar is the prefix of each line of foreign text.
const bar = "  │ "

// withBars shows a text of several lines, each with a bar, so that none of them looks like
// a line of the terminal's own.
func (l Look) withBars(s string) string { return strings.Join(l.barLines(s, l.words, plain), "\n") }

// exact shows the text of a request in full: the approver must see every character.
func (l Look) exact(s string) string {
	return strings.Join(
		l.escaped(s, func(s string, width int) string { return ansi.Hardwrap(s, width, true) }, bold),
		"\n",
	)
}

func (l Look) words(s string, width int) string { return ansi.Wrap(s, width, "") }

// tabStop is the number of columns between tab stops.
const tabStop = 4

// expandTabs replaces tabs with spaces.
func expandTabs(s string) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		column := 0
		for i, part := range strings.Split(line, "\t") {
			if i > 0 {
				n := tabStop - column%tabStop
				b.WriteString(strings.Repeat(" ", n))
				column += n
			}
			b.WriteString(part)
			column += ansi.StringWidth(part)
		}
	}
	return b.String()
}

// item shows a text of one line after a trusted prefix. If it is too long, the rest has a
// bar.
func (l Look) item(before, s string) string { return l.itemIn(plain, before, s) }

// warning shows a text of one line as an item in yellow.
func (l Look) warning(s string) string { return l.itemIn(yellow, "! ", s) }

func (l Look) itemIn(c tone, before, s string) string {
	s = untrusted.EscapeLine(s)
	if l.Width == 0 {
		return l.in(c, before+s)
	}
	first, rest, more := strings.Cut(ansi.Wrap(s, max(l.Width-1-ansi.StringWidth(before), 16), ""), "\n")
	first = l.in(c, before+first)
	if !more {
		return first
	}
	return first + "\n" + strings.Join(l.escaped(strings.ReplaceAll(rest, "\n", " "), l.words, c), "\n")
}

// barLines returns the lines of a text, each with a bar, and its tabs as spaces.
func (l Look) barLines(s string, wrap func(s string, width int) string, c tone) []string {
	return l.escaped(expandTabs(strings.TrimSpace(s)), wrap, c)
}

// escaped returns the lines of a text, each with a bar. Control characters are made
// visible, tabs included.
func (l Look) escaped(s string, wrap func(s string, width int) string, c tone) []string {
	s = untrusted.EscapeVisible(strings.TrimSpace(s)) //control:terminal-bar
	if l.Width > 0 {                                  //control:terminal-wrap-bar
		s = wrap(s, max(l.Width-len([]rune(bar))-1, 16))
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = l.in(dim, bar) + l.in(c, line)
	}
	return lines
}

// Patch formats a patch for the terminal: with colours, and with control characters
// escaped.
func (l Look) Patch(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if l.Width > 0 && strings.HasPrefix(line, "index ") {
			continue
		}
		end := line[len(strings.TrimSuffix(line, "\n")):]
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, p := range parts {
			parts[i] = untrusted.EscapeLine(p)
		}
		c := plain
		switch {
		case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
			c = bold
		case strings.HasPrefix(line, "@@"):
			c = cyan
		case strings.HasPrefix(line, "+"):
			c = green
		case strings.HasPrefix(line, "-"):
			c = red
		}
		b.WriteString(l.in(c, strings.Join(parts, "\t")) + end)
	}
	return b.String()
}
