// Package lines compares and merges texts line by line, and writes what
// changed as a patch has it. It is pure.
package lines

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	maxLines = 200_000
	diffTime = 5 * time.Second // after it a diff is larger than it need be, and still right
)

// Span is a change of lines: a[A:AEnd] becomes b[B:BEnd].
type Span struct{ A, AEnd, B, BEnd int }

// Split cuts text after each newline.
func Split(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// Compare returns the spans in which two lists of lines differ, in order.
func Compare(a, b []string) []Span {
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	ma, mb := a[pre:len(a)-post], b[pre:len(b)-post]
	switch {
	case len(ma) == 0 && len(mb) == 0:
		return nil
	case len(ma) == 0 || len(mb) == 0 || len(ma)+len(mb) > maxLines:
		return []Span{{pre, pre + len(ma), pre, pre + len(mb)}}
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = diffTime
	ra, rb, _ := dmp.DiffLinesToRunes(strings.Join(ma, ""), strings.Join(mb, ""))
	var list []Span
	x, y := pre, pre
	for _, d := range dmp.DiffMainRunes(ra, rb, false) {
		n := len([]rune(d.Text))
		if d.Type == diffmatchpatch.DiffEqual {
			x, y = x+n, y+n
			continue
		}
		if k := len(list) - 1; k < 0 || list[k].AEnd != x || list[k].BEnd != y {
			list = append(list, Span{x, x, y, y})
		}
		if d.Type == diffmatchpatch.DiffDelete {
			x += n
		} else {
			y += n
		}
		list[len(list)-1].AEnd, list[len(list)-1].BEnd = x, y
	}
	return list
}

// IsBinary is git's own guess: a NUL in the first 8000 bytes.
func IsBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }

// Merge applies what changed from base to ours and from base to theirs.
// Changes that overlap or touch must be equal, or there is no merge.
func Merge(base, ours, theirs []string) ([]string, bool) {
	return merge([3][]string{base, ours, theirs}, nil)
}

// Marked is like Merge. Where there is no merge, both sides stand between lines that
// name them.
func Marked(base, ours, theirs []string, names [2]string) []string {
	out, _ := merge([3][]string{base, ours, theirs}, func(mine, yours []string) []string {
		end := "\n"
		if slices.ContainsFunc(slices.Concat(mine, yours), func(l string) bool { return strings.HasSuffix(l, "\r\n") }) {
			end = "\r\n"
		}
		out := append([]string{markOurs + " " + names[0] + end}, closed(mine, end)...)
		out = append(append(out, markMiddle+end), closed(yours, end)...)
		return append(out, markTheirs+" "+names[1]+end)
	})
	return out
}

// The marks around two sides, as git writes them.
const markOurs, markMiddle, markTheirs = "<<<<<<<", "=======", ">>>>>>>"

// closed is a list of lines whose last one ends.
func closed(list []string, end string) []string {
	if n := len(list); n > 0 && !strings.HasSuffix(list[n-1], "\n") {
		return append(slices.Clone(list[:n-1]), list[n-1]+end)
	}
	return list
}

// HasMarks reports whether a text has lines that begin or end two sides, and that are
// in none of others.
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

// merge is Merge of base, ours and theirs. Mark returns what stands for two sides that
// do not agree; nil means that there is no merge then.
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

// rebuild returns what base became from line lo on, on one side.
func rebuild(base []string, lo int, side []string, spans []Span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, base[lo:s.A]...)
		out = append(out, side[s.B:s.BEnd]...)
		lo = s.AEnd
	}
	return append(out, base[lo:]...)
}

// Hunks returns the lines that spans change from a to b as a unified diff
// without its first two lines, with some lines around each change.
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
