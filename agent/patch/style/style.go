// Package style writes the new lines of an edit as the file writes its lines. Where an
// edit fits only if white space or the form of quotes does not count, its new lines are
// written in the edit's way, too: tabs as spaces, with quotes of another form, less deep.
//
// What of a changed line is as in the old line stays as the file has it, to the byte, and
// the rest is written as the file writes the like of it. What old lines do not settle is
// never guessed: it is an error.
package style

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// Line is a line of an edit: context (' '), deleted ('-') or added ('+'). File is the line
// of the file that it stands for, unless it is added.
type Line struct {
	Op         byte
	Text, File string
}

// Adopt returns the text of each line, the added ones as a file with the lines of file
// would have them.
func Adopt(file []string, lines []Line) ([]string, error) {
	w := newWriter(file, lines)
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Text
	}
	partner := partners(lines)
	if text, open := w.unsettled(lines, partner); open {
		return nil, unclear(text)
	}
	if text, open := w.beheaded(lines, partner); open {
		return nil, unclear(text)
	}
	k, gone, first := 0, 0, true
	for i, l := range lines {
		if l.Op != '+' {
			k++
			first = first && l.Op == '-'
			if gone++; l.Op == ' ' {
				w.last, gone = l.Text, 0
			}
			continue
		}
		at := place{partner: partner[i], near: k, first: first, gone: gone}
		alone := func(n int, op byte) bool { return n < 0 || n >= len(lines) || lines[n].Op != op }
		if at.partner < 0 && !alone(i-1, '-') && alone(i-2, '-') && alone(i+1, '+') && strings.TrimSpace(lines[i-1].Text) != "" {
			at.partner, at.instead = k-1, true
		}
		var ok bool
		if out[i], ok = w.write(l.Text, at); !ok {
			return nil, unclear(l.Text)
		}
		first, w.last = false, l.Text
	}
	return out, nil
}

// unsettled returns the new line of an edit without indentation that can be meant in
// several ways, where the file has indentation.
func (w *writer) unsettled(lines []Line, partner []int) (text string, ok bool) {
	plain := func(l Line) bool { return compare.Indent(l.Text) == "" }
	indented := func(l Line) bool { return l.Op != '+' && compare.Indent(l.File) != "" }
	if slices.ContainsFunc(lines, func(l Line) bool { return !plain(l) }) || !slices.ContainsFunc(lines, indented) {
		return "", false
	}
	twice, opened := "", ""
	for i, l := range lines {
		switch {
		case l.Op == '-':
			same := func(m Line) bool { return m.Op != '+' && m.Text == l.Text }
			if rest := slices.IndexFunc(lines[i+1:], same); rest >= 0 || slices.IndexFunc(lines, same) < i {
				twice = l.Text // which of them is gone?
			}
			continue
		case l.Op == '+' && partner[i] < 0 && w.outer.flat():
			return l.Text, true
		}
		s := strings.TrimSpace(l.Text)
		if opened != "" && s != "" && !strings.ContainsAny(s[:1], "})]") {
			return opened, true // what stands in a block is deeper
		}
		if opened = ""; l.Op == '+' && s != "" && strings.ContainsAny(s[len(s)-1:], "{([:") {
			opened = l.Text
		}
	}
	return twice, twice != "" && w.outer.flat()
}

// beheaded returns the first new line of an edit whose first old line lost its indentation,
// where nothing but that tells which line it is: a bracket alone.
func (w *writer) beheaded(lines []Line, partner []int) (text string, ok bool) {
	if !trimmed(w.outer.told()) {
		return "", false
	}
	bracket := func(s string) bool { return strings.TrimSpace(s) != "" && !strings.ContainsFunc(s, wordRune) }
	head := slices.IndexFunc(lines, func(l Line) bool { return l.Op != '+' && strings.TrimSpace(l.Text) != "" })
	for i, l := range lines {
		if i != head && l.Op != ' ' && bracket(l.Text) && compare.Collapse(l.Text) == compare.Collapse(lines[head].Text) {
			return l.Text, true // it or the first one?
		}
	}
	first := slices.IndexFunc(lines, func(l Line) bool { return l.Op != '-' })
	if first <= 0 {
		return "", false
	}
	l := lines[first]
	return l.Text, bracket(l.Text) && compare.Indent(l.Text) == "" && (l.Op == ' ' || partner[first] != 0)
}

func unclear(text string) error {
	return fmt.Errorf("it is not clear which of it the new line %q is to have", text)
}

// partners returns, for each line of a hunk that is new, the index of the old line that
// it is made of, counted among the old lines, or -1.
func partners(lines []Line) []int {
	out := make([]int, len(lines))
	var old, add []string
	var at []int
	k := 0
	flush := func() {
		for i, o := range pairUp(old, add) {
			if out[at[i]] = -1; o >= 0 {
				out[at[i]] = k - len(old) + o
			}
		}
		old, add, at = nil, nil, nil
	}
	for i, l := range lines {
		switch l.Op {
		case '-':
			if len(add) > 0 {
				flush()
			}
			old, k = append(old, l.Text), k+1
		case '+':
			add, at = append(add, l.Text), append(at, i)
		default:
			flush()
			k++
		}
	}
	flush()
	return out
}

// pairUp says of each new line which old line is most like it, or -1, in order.
func pairUp(old, add []string) []int {
	out := make([]int, len(add))
	for i := range out {
		out[i] = -1
	}
	const enough = 0.45
	next := 0
	for j, s := range add {
		best := enough
		for i := next; i < min(len(old), next+100); i++ {
			if now := likeness(tokens(old[i]), tokens(s)); now > best {
				best, out[j] = now, i
			}
		}
		next = max(next, out[j]+1)
	}
	return out
}

// likeness says how much of two lines is the same, from 0 to 1.
func likeness(a, b []string) float64 {
	has, n, both := map[string]int{}, 0, 0
	for _, s := range a {
		if !isSpace(s) {
			has[s] += len(s)
			n += len(s)
		}
	}
	for _, s := range b {
		if isSpace(s) {
			continue
		}
		n += len(s)
		if has[s] >= len(s) {
			has[s] -= len(s)
			both += 2 * len(s)
		}
	}
	if n == 0 {
		return 0
	}
	return float64(both) / float64(n)
}

// cells are the parts of a line.
type cells struct {
	indent string
	leader string // of a comment
	inner  string // the white space behind it
	body   string
	tail   string // white space
}

var commentLeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?://[/!]?|#+|\*+|--+|;+|%+|>+|/\*+)`)
})

func cellsOf(s string) cells {
	var c cells
	c.indent = compare.Indent(s)
	s = s[len(c.indent):]
	body := strings.TrimRight(s, " \t")
	c.tail, s = s[len(body):], body
	c.leader = commentLeader().FindString(s)
	s = s[len(c.leader):]
	if c.inner = compare.Indent(s); c.inner == "" && c.leader != "" { // an operator, perhaps
		c.leader, s = "", c.leader+s
	}
	c.body = s[len(c.inner):]
	return c
}
