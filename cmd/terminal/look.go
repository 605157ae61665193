package terminal

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Look is what a terminal can show. The zero value is a pipe: plain lines of any length.
type Look struct {
	Width  int        // columns; 0 for no limit
	Colour bool       //
	Live   bool       // the last lines can be written over
	size   func() int // asks for the width again; nil for one that stays
}

// LookOf says what standard output can show: nothing but plain lines where it is no
// terminal or a dumb one, and no colour where NO_COLOR is set.
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

// IsPerson reports whether somebody can type at in.
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

// in colours a text that is ours or was made safe.
func (l Look) in(c tone, s string) string {
	if !l.Colour || c == plain || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// line fits a text on one line: foreign text wraps into no line of its own.
func (l Look) line(s string) string { return l.fit(s, 0) }

// fit fits a text on a line that has room for so many columns more.
func (l Look) fit(s string, more int) string {
	if l.Width > 0 {
		s = ansi.Truncate(s, max(l.Width-1-more, 10), "…")
	}
	return s
}

// bar stands before each line of a text that is not the terminal's own.
const bar = "  │ "

// barred shows a text of several lines, each behind a bar, so that none of them can
// be taken for a line of the terminal's own.
func (l Look) barred(s string) string { return strings.Join(l.behindBar(s, l.words, plain), "\n") }

// exact shows what a person is asked about: no character of it is left out.
func (l Look) exact(s string) string {
	return strings.Join(l.escaped(s, func(s string, width int) string { return ansi.Hardwrap(s, width, true) }, bold), "\n")
}

func (l Look) words(s string, width int) string { return ansi.Wrap(s, width, "") }

// tabStop is how many columns apart the stops are to which a tab goes.
const tabStop = 4

// spaced shows the tabs of code as the columns that they stand for.
func spaced(s string) string {
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

// item is a text of one line with what is ours before it. Where it is too long, the rest
// stands behind bars.
func (l Look) item(before, s string) string {
	s = untrusted.EscapeLine(s)
	if l.Width == 0 {
		return before + s
	}
	first, rest, more := strings.Cut(ansi.Wrap(s, max(l.Width-1-ansi.StringWidth(before), 16), ""), "\n")
	if !more {
		return before + first
	}
	return before + first + "\n" + l.barred(strings.ReplaceAll(rest, "\n", " "))
}

// behindBar returns the lines of a text, each behind a bar, with its tabs as columns.
func (l Look) behindBar(s string, wrap func(s string, width int) string, c tone) []string {
	return l.escaped(spaced(strings.TrimSpace(s)), wrap, c)
}

// escaped returns the lines of a text, each behind a bar, with every control character
// shown, tabs too.
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

// Patch returns a patch for a person to read: in colours, and with nothing in it that
// the terminal could take for its own.
func (l Look) Patch(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
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
