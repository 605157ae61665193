package patch

import (
	"fmt"
	"slices"
	"strings"
)

// replaceRange applies a hunk that says which lines it replaces, not what they are.
func (p *applier) replaceRange(h hunk) error {
	from, to := p.shifted(h.start-1), p.shifted(h.end-1)+1
	if from < 0 || to < from || to > len(p.doc.lines) {
		return fmt.Errorf("apply edit: %s is for lines %d-%d, but the file has %d lines", h.describe(p.index, p.total), h.start, h.end, len(p.doc.lines))
	}
	if why := p.doc.displaced(h.fresh(), from, to); why != "" {
		return fmt.Errorf("apply edit: with %s, lines %d-%d, %s; are those the lines that are meant? The file has there\n%s", h.describe(p.index, p.total), from+1, to, why, p.doc.region(from, to-from))
	}
	p.put(h, from, to, false)
	return nil
}

// displaced says why new lines are hardly meant for lines from to to of d, or nothing: they
// repeat the line before or behind, or leave a bracket open where all were closed. Where an
// edit has no old text, that is all that tells.
func (d *document) displaced(fresh []string, from, to int) string {
	n := len(fresh)
	if n == 0 {
		return ""
	}
	again := func(s string, at, instead int) bool { // the line is beside those that it replaces, and not one of them
		return at >= 0 && at < len(d.lines) && s == d.lines[at].text && telling([]string{s}, 3) && (instead < 0 || s != d.lines[instead].text)
	}
	switch {
	case again(fresh[0], from-1, from):
		return "the line before them would be there twice"
	case again(fresh[n-1], to, to-1):
		return "the line behind them would be there twice"
	}
	return d.unbalanced(fresh, from, to)
}

// unbalanced says which bracket would be left over if lines from to to of d became fresh,
// where d has as many of one kind as of the other.
func (d *document) unbalanced(fresh []string, from, to int) string {
	open, shut := brackets(texts(d.lines))
	if open == 0 || open != shut {
		return ""
	}
	open, shut = brackets(fresh)
	wasOpen, wasShut := brackets(texts(d.lines[from:to]))
	switch more := (open - shut) - (wasOpen - wasShut); {
	case more > 0:
		return "a bracket { of the file would not be closed"
	case more < 0:
		return "there would be one more bracket } than the file opens"
	}
	return ""
}

// brackets counts those of blocks.
func brackets(lines []string) (open, shut int) {
	for s := range slices.Values(lines) {
		open, shut = open+strings.Count(s, "{"), shut+strings.Count(s, "}")
	}
	return open, shut
}

// LeftOver says which bracket an edit leaves over in a file that had as many of one kind
// as of the other, or nothing. It may be meant, or stand in a text: so it is told only.
func LeftOver(name, before, after string) string {
	open, shut := brackets([]string{before})
	if open == 0 || open != shut || prose(name) {
		return ""
	}
	switch open, shut := brackets([]string{after}); {
	case open > shut:
		return fmt.Sprintf("The file had as many { as }; now %d of its { have no }. Is that meant?", open-shut)
	case open < shut:
		return fmt.Sprintf("The file had as many { as }; now it has %d } too many. Is that meant?", shut-open)
	}
	return ""
}
