// Package lines compares and merges texts line by line, and formats changes as patches.
// It is pure.
package lines

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Split cuts text after each newline.
func Split(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// IsBinary applies git's heuristic: a NUL in the first 8000 bytes.
func IsBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }

// Merge merges the changes from base to ours with those from base to theirs. It reports
// false if changes overlap or touch, and are not equal.
func Merge(base, ours, theirs []string) ([]string, bool) {
	return merge([3][]string{base, ours, theirs}, nil)
}

// Marked is like Merge, but keeps both sides of a conflict between markers with their
// names.
func Marked(base, ours, theirs []string, names [2]string) []string {
	out, _ := merge([3][]string{base, ours, theirs}, func(mine, yours []string) []string {
		end := "\n"
		if slices.ContainsFunc(slices.Concat(mine, yours), func(l string) bool { return strings.HasSuffix(l, "\r\n") }) {
			end = "\r\n"
		}
		out := append([]string{markOurs + " " + names[0] + end}, withFinalEnd(mine, end)...)
		out = append(append(out, markMiddle+end), withFinalEnd(yours, end)...)
		return append(out, markTheirs+" "+names[1]+end)
	})
	return out
}

// The conflict markers, as git writes them.
const markOurs, markMiddle, markTheirs = "<<<<<<<", "=======", ">>>>>>>"

// withFinalEnd adds a missing line end to the last line.
func withFinalEnd(list []string, end string) []string {
	if n := len(list); n > 0 && !strings.HasSuffix(list[n-1], "\n") {
		return append(slices.Clone(list[:n-1]), list[n-1]+end)
	}
	return list
}

// HasMarks reports whether a text has conflict markers that none of the others has.
func HasMarks(text []string, others ...[]string) bool {
	return slices.ContainsFunc(text, func(l string) bool {
		l = strings.TrimRight(l, "\r\n")
		mark, _, _ := strings.Cut(l, " ")
		if mark != markOurs && mark != markTheirs {
			return false
		}
		return !slices.ContainsFunc(others, func(o []string) bool {
			return slices.ContainsFunc(o, func(k string) bool { return strings.TrimRight(k, "\r\n") == l })
		})
	})
}

// merge merges base, ours and theirs. mark returns the replacement of a conflict; if it
// is nil, a conflict ends the merge.
func merge(from [3][]string, mark func(mine, yours []string) []string) ([]string, bool) {
	base, ours, theirs := from[0], from[1], from[2]
	a, b := Compare(base, ours), Compare(base, theirs)
	var out []string
	pos := 0
	for len(a) > 0 || len(b) > 0 {
		lo := len(base)
		if len(a) > 0 {
			lo = a[0].A
		}
		if len(b) > 0 {
			lo = min(lo, b[0].A)
		}
		hi, na, nb := lo, 0, 0
		for grown := true; grown; {
			grown = false
			for na < len(a) && a[na].A <= hi {
				hi, grown = max(hi, a[na].AEnd), true
				na++
			}
			for nb < len(b) && b[nb].A <= hi {
				hi, grown = max(hi, b[nb].AEnd), true
				nb++
			}
		}
		out = append(out, base[pos:lo]...)
		mine, yours := rebuild(base[:hi], lo, ours, a[:na]), rebuild(base[:hi], lo, theirs, b[:nb])
		switch {
		case nb == 0 || slices.Equal(mine, yours):
			out = append(out, mine...)
		case na == 0:
			out = append(out, yours...)
		case mark == nil:
			return nil, false
		default:
			out = append(out, mark(mine, yours)...)
		}
		pos, a, b = hi, a[na:], b[nb:]
	}
	return append(out, base[pos:]...), true
}

// rebuild returns one side's version of the lines of base from lo on.
func rebuild(base []string, lo int, side []string, spans []Span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, base[lo:s.A]...)
		out = append(out, side[s.B:s.BEnd]...)
		lo = s.AEnd
	}
	return append(out, base[lo:]...)
}

// Hunks formats the spans that change a to b as a unified diff without its two header
// lines, with some lines around each change.
func Hunks(a, b []string, spans []Span, around int) string {
	h := hunks{a: a, b: b, around: around}
	for len(spans) > 0 {
		n := 1
		for n < len(spans) && spans[n].A-spans[n-1].AEnd <= 2*around {
			n++
		}
		h.write(spans[:n])
		spans = spans[n:]
	}
	return h.String()
}

type hunks struct {
	strings.Builder
	a, b   []string
	around int
}

// write writes one hunk.
func (h *hunks) write(spans []Span) {
	first, last := spans[0], spans[len(spans)-1]
	pre := min(h.around, first.A)
	post := min(h.around, len(h.a)-last.AEnd)
	a0, a1, b0, b1 := first.A-pre, last.AEnd+post, first.B-pre, last.BEnd+post
	at := func(start, n int) string {
		if n > 0 {
			start++
		}
		if n == 1 {
			return fmt.Sprint(start)
		}
		return fmt.Sprintf("%d,%d", start, n)
	}
	fmt.Fprintf(h, "@@ -%s +%s @@\n", at(a0, a1-a0), at(b0, b1-b0))
	put := func(mark byte, list []string) {
		for _, l := range list {
			h.WriteByte(mark)
			h.WriteString(l)
			if !strings.HasSuffix(l, "\n") {
				h.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	x := a0
	for _, s := range spans {
		put(' ', h.a[x:s.A])
		put('-', h.a[s.A:s.AEnd])
		put('+', h.b[s.B:s.BEnd])
		x = s.AEnd
	}
	put(' ', h.a[x:a1])
}
