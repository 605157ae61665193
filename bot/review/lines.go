package review

import (
	"strconv"
	"strings"

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
