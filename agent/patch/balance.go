package patch

import "strings"

// misplacement returns the reason why new lines are unlikely to be meant for lines
// [from, to) of d, or "". They repeat the line before or after, or unbalance
// brackets. An edit without old text gives no other evidence.
func (d *document) misplacement(fresh []string, from, to int) string {
	n := len(fresh)
	if n == 0 {
		return ""
	}
	switch first, last := fresh[0], fresh[n-1]; {
	case d.repeats(first, from-1) && !d.repeats(first, from):
		return "the line before them would be there twice"
	case d.repeats(last, to) && !d.repeats(last, to-1):
		return "the line behind them would be there twice"
	}
	return d.imbalance(fresh, from, to)
}

// repeats reports whether a line with words is the file's line at an index.
func (d *document) repeats(s string, at int) bool {
	return at >= 0 && at < len(d.lines) && s == d.lines[at].text && telling([]string{s}, 3)
}

// imbalance names the bracket left over if lines [from, to) of d became fresh. It
// returns "" if the brackets of d are unbalanced already.
func (d *document) imbalance(fresh []string, from, to int) string {
	if open, left := brackets(texts(d.lines)...); open == 0 || left != 0 {
		return ""
	}
	_, was := brackets(texts(d.lines[from:to])...)
	switch _, is := brackets(fresh...); {
	case is > was:
		return "a bracket { of the file is not closed"
	case is < was:
		return "there is a bracket } that the file does not open"
	}
	return ""
}

// brackets counts the opening curly brackets, and those without a closing one.
func brackets(texts ...string) (open, left int) {
	for _, s := range texts {
		open, left = open+strings.Count(s, "{"), left+strings.Count(s, "{")-strings.Count(s, "}")
	}
	return open, left
}

// LeftOver describes the curly brackets that an edit leaves over in a file that was
// balanced, or returns "". It is a hint and not an error: the edit may mean it, or
// the bracket may be in a string.
func LeftOver(name, before, after string) string {
	d := newDocument(before)
	left := d.imbalance([]string{after}, 0, len(d.lines))
	if left == "" || prose(name) {
		return ""
	}
	return "With this edit " + left + ". Is that meant?"
}
