package style

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// Sketch returns the lines of a sketch that replace those of old as the file writes.
// tolerant says that the sketch's anchors fit only if white space does not count. Where
// they fit exactly, and the sketch has no spaces for tabs either, its white space is meant.
func Sketch(doc, lines, old []string, tolerant bool) ([]string, error) {
	r := respeller{lines: lines, old: old, is: make([]int, len(lines))}
	r.match()
	tabs := r.tabsAsSpaces()
	if !tolerant && !tabs {
		return lines, nil
	}
	var sent, has []string
	for j, i := range r.is {
		if i >= 0 {
			sent, has = append(sent, lines[j]), append(has, old[i])
		}
	}
	w := newWriter(doc, sent, has)
	for _, s := range lines {
		w.sees(s)
	}
	anchors := []pair{r.anchor(0, 0), r.anchor(len(lines)-1, len(old)-1)}
	out := make([]string, len(lines))
	partner := r.partners()
	for j, s := range lines {
		if strings.TrimSpace(s) == "" {
			if i := r.is[j]; i >= 0 {
				out[j] = old[i]
			}
			continue
		}
		in, ok := w.outer.solve(cellsOf(s).indent, anchors)
		if tabs {
			in, ok = w.outer.scaled(cellsOf(s).indent, anchors)
		}
		if !ok {
			return nil, unclear(s)
		}
		rest, ok := r.rest(w, j, partner[j])
		if !ok {
			return nil, unclear(s)
		}
		out[j] = in + rest
	}
	return out, nil
}

// respeller compares a part of a sketch with the lines that it replaces.
type respeller struct {
	lines, old []string
	is         []int // for each line of the sketch that of the file but for white space, or -1
}

// match finds the lines that are the file's.
func (r *respeller) match() {
	flat := func(lines []string) []string {
		out := make([]string, len(lines))
		for i, s := range lines {
			out[i] = compare.Collapse(s)
		}
		return out
	}
	j := 0
	for _, run := range compare.Lines(flat(r.old), flat(r.lines)) {
		switch run.Op {
		case '+':
			for range run.To - run.From {
				r.is[j], j = -1, j+1
			}
		case ' ':
			for i := run.From; i < run.To; i++ {
				r.is[j], j = i, j+1
			}
		}
	}
}

// tabsAsSpaces reports whether the file has tabs where the sketch, which has none at
// all, has spaces.
func (r *respeller) tabsAsSpaces() bool {
	if slices.ContainsFunc(r.lines, func(s string) bool { return strings.Contains(s, "\t") }) {
		return false
	}
	for j, i := range r.is {
		if i >= 0 && strings.Contains(r.old[i], "\t") && strings.Contains(r.lines[j], "  ") {
			return true
		}
	}
	return false
}

// partners returns, for each line of the sketch that the file does not have, the line
// that it is made of, or -1.
func (r *respeller) partners() []int {
	var hunk []Line
	var at []int
	next := 0
	for j, i := range r.is {
		for ; i >= 0 && next < i; next++ {
			hunk = append(hunk, Line{Op: '-', Text: r.old[next]})
		}
		if i < 0 {
			at = append(at, j)
			continue
		}
		hunk = r.flush(hunk, at)
		at = nil
		hunk, next = append(hunk, Line{Op: ' '}), i+1
	}
	for ; next < len(r.old); next++ {
		hunk = append(hunk, Line{Op: '-', Text: r.old[next]})
	}
	hunk = r.flush(hunk, at)
	out, j := make([]int, len(r.lines)), 0
	for n, i := range partners(hunk) {
		switch hunk[n].Op {
		case '+':
			out[j], j = i, j+1
		case ' ':
			out[j], j = -1, j+1
		}
	}
	return out
}

func (r *respeller) flush(hunk []Line, at []int) []Line {
	for _, j := range at {
		hunk = append(hunk, Line{Op: '+', Text: r.lines[j]})
	}
	return hunk
}

// anchor returns how a line of the sketch and one of the file are indented.
func (r *respeller) anchor(j, i int) pair {
	return pair{compare.Indent(r.lines[j]), compare.Indent(r.old[i]), true}
}

// rest returns a line of the sketch behind its indentation.
func (r *respeller) rest(w *writer, j, partner int) (string, bool) {
	if i := r.is[j]; i >= 0 {
		return r.old[i][len(compare.Indent(r.old[i])):], true
	}
	n := cellsOf(r.lines[j])
	var ok bool
	if partner < 0 {
		if n.leader != "" {
			if n.inner, ok = w.behind(n.leader).translate(n.inner, place{}, w.tabs()); !ok {
				return "", false
			}
		}
		n.body, ok = w.added(tokens(n.body))
		return n.leader + n.inner + n.body, ok
	}
	sent, f := strings.TrimLeft(r.lines[j], " \t"), strings.TrimLeft(r.old[partner], " \t")
	if wide(sent) > wide(f) {
		return "", false
	}
	return w.body(compare.Collapse(sent), compare.Collapse(f), strings.TrimRight(f, " \t"), true)
}

// wide counts the white space in a line that is more than a space.
func wide(s string) (n int) {
	for _, t := range tokens(s) {
		if isSpace(t) && t != " " {
			n++
		}
	}
	return n
}
