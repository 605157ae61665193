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
	var old, has []string
	out := make([]string, len(lines))
	for i, l := range lines {
		if out[i] = l.Text; l.Op != '+' {
			old, has = append(old, l.Text), append(has, l.File)
		}
	}
	w := newWriter(file, old, has)
	for _, l := range lines {
		w.sees(l.Text)
	}
	partner := partners(lines)
	k, first := 0, true
	for i, l := range lines {
		if l.Op != '+' {
			k++
			first = first && l.Op == '-'
			continue
		}
		var ok bool
		if out[i], ok = w.write(l.Text, place{partner[i], k, first}); !ok {
			return nil, unclear(l.Text)
		}
		first = false
	}
	return out, nil
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
	const most, enough = 300, 0.45
	if len(old) == 0 || len(old)*len(add) > most*most {
		return out
	}
	best := make([][]float64, len(old)+1)
	best[len(old)] = make([]float64, len(add)+1)
	like := make([][]float64, len(old))
	words := make([][]string, len(add))
	for j, n := range add {
		words[j] = tokens(n)
	}
	for i := len(old) - 1; i >= 0; i-- {
		best[i], like[i] = make([]float64, len(add)+1), make([]float64, len(add))
		is := tokens(old[i])
		for j := len(add) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if like[i][j] = likeness(is, words[j]); like[i][j] >= enough {
				best[i][j] = max(best[i][j], like[i][j]+best[i+1][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(old) && j < len(add); {
		switch {
		case like[i][j] >= enough && best[i][j] == like[i][j]+best[i+1][j+1]:
			out[j] = i
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
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
