package review

import (
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// shownLines maps the lines that a file's diff shows, before and after the change, to the
// number of their hunk.
type shownLines struct{ before, after map[int]int }

var hunkHead = pattern.Lazy(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

func linesOf(patch string) shownLines {
	out := shownLines{map[int]int{}, map[int]int{}}
	hunk, before, after := 0, 0, 0
	for l := range strings.SplitSeq(patch, "\n") {
		if m := hunkHead().FindStringSubmatch(l); m != nil {
			hunk++
			before, _ = strconv.Atoi(m[1]) // the pattern matches digits only
			after, _ = strconv.Atoi(m[2])
			continue
		}
		if hunk == 0 || l == "" {
			continue
		}
		if l[0] == '-' || l[0] == ' ' {
			out.before[before] = hunk
			before++
		}
		if l[0] == '+' || l[0] == ' ' {
			out.after[after] = hunk
			after++
		}
	}
	return out
}

// part returns the first run of lines between from and to that one hunk shows.
func (s shownLines) part(old bool, from, to int) (first, last int, ok bool) {
	shown := s.after
	if old {
		shown = s.before
	}
	for n := from; n <= to; n++ {
		switch hunk := shown[n]; {
		case hunk == 0 && ok:
			return first, last, true
		case hunk == 0:
		case !ok:
			first, last, ok = n, n, true
		case hunk != shown[first]:
			return first, last, true
		default:
			last = n
		}
	}
	return first, last, ok
}

// change is the change of a file between two commits.
type change struct {
	From, To string // paths before and after
	Patch    string // hunks
	Deleted  bool
}

// touched reports whether changes remove a line of a finding.
func touched(f session.Finding, changes []change) bool {
	for _, c := range changes {
		if c.From != f.Path {
			continue
		}
		for n := f.Line; n <= f.Last(); n++ {
			if _, ok := moved(c.Patch, n); !ok || c.Deleted {
				return true
			}
		}
	}
	return false
}

// follow returns a finding with the lines that it has after changes to its file. If they are
// gone, it has none. A finding on the old side stays.
func follow(f session.Finding, changes []change) session.Finding {
	for _, c := range changes {
		if c.From != f.Path || f.Old {
			continue
		}
		first, last := 0, 0
		for n := f.Line; n <= f.Last(); n++ {
			at, ok := moved(c.Patch, n)
			if ok && first == 0 {
				first = at
			}
			if ok {
				last = at
			}
		}
		f.Path, f.Line, f.End = c.To, first, 0
		if last > first {
			f.End = last
		}
		return f
	}
	return f
}

// moved returns the number that a line of a file has after a change, and false if the
// change removes it, see [stays].
func moved(patch string, line int) (int, bool) {
	hunk, before, after, shift := false, 0, 0, 0
	for l := range strings.SplitSeq(patch, "\n") {
		if m := hunkHead().FindStringSubmatch(l); m != nil {
			if hunk = true; before > 0 {
				shift = after - before
			}
			before, _ = strconv.Atoi(m[1]) // the pattern matches digits only
			after, _ = strconv.Atoi(m[2])
			if strings.HasPrefix(l, "@@ -"+m[1]+",0 ") { // nothing is removed: the hunk is behind that line
				before++
			}
			if strings.Contains(l, " +"+m[2]+",0 ") {
				after++
			}
			if line < before {
				return line + shift, true
			}
			continue
		}
		if !hunk || l == "" {
			continue
		}
		switch l[0] {
		case '+':
			after++
		case '-':
			if before == line {
				return stays(patch, line)
			}
			before++
		case ' ':
			if before == line {
				return after, true
			}
			before, after = before+1, after+1
		}
	}
	if before > 0 {
		shift = after - before
	}
	return line + shift, true
}

// minMovedText is the minimum length of a line that is recognized where a change moved it, in bytes.
const minMovedText = 12

// stays returns the number of the added line that says the same as a removed one, but for blanks and the kind of
// the line's end: in its place, or, for a long line that is removed and added once, where it was moved to.
func stays(patch string, line int) (int, bool) {
	removed, added := changedLines(patch)
	at := slices.IndexFunc(removed, func(c changedLine) bool { return c.number == line })
	if at < 0 || removed[at].text == "" {
		return 0, false
	}
	gone := removed[at]
	same := func(c changedLine) bool { return c.text == gone.text }
	was := slices.DeleteFunc(slices.Clone(removed), func(c changedLine) bool { return !same(c) })
	is := slices.DeleteFunc(slices.Clone(added), func(c changedLine) bool { return !same(c) })
	nth := 0 // of the equal lines of its run
	for _, c := range was {
		if c.run == gone.run && c.number < line {
			nth++
		}
	}
	for _, c := range is {
		if c.run == gone.run && nth == 0 {
			return c.number, true //control:only-its-end-changed
		}
		if c.run == gone.run {
			nth--
		}
	}
	if len(was) == 1 && len(is) == 1 && len(strings.TrimSpace(gone.text)) >= minMovedText {
		return is[0].number, true //control:moved-code
	}
	return 0, false
}

// changedLine is a line that a diff removes or adds.
type changedLine struct {
	text   string // without blanks and the end of the line
	number int    // in the file before the change if it is removed, otherwise after it
	run    int    // of neighboring removed and added lines
}

// changedLines returns the lines that a diff removes and adds.
func changedLines(patch string) (removed, added []changedLine) {
	hunk, before, after, run := false, 0, 0, 0
	for l := range strings.SplitSeq(patch, "\n") {
		if m := hunkHead().FindStringSubmatch(l); m != nil {
			hunk, run = true, run+1
			before, _ = strconv.Atoi(m[1]) // the pattern matches digits only
			after, _ = strconv.Atoi(m[2])
			continue
		}
		if !hunk || l == "" {
			continue
		}
		text := strings.TrimRight(l[1:], " \t\r")
		switch l[0] {
		case '-':
			removed = append(removed, changedLine{text, before, run})
			before++
		case '+':
			added = append(added, changedLine{text, after, run})
			after++
		case ' ':
			before, after, run = before+1, after+1, run+1
		}
	}
	return removed, added
}
