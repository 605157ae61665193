package gitops

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	maxDiffFile  = 4 << 20 // larger files are shown as changed, without lines
	maxDiffLines = 200_000
	diffTime     = 5 * time.Second // after it a diff is larger than it need be, and still right
)

// span is a change of lines: a[A:AEnd] becomes b[B:BEnd].
type span struct{ A, AEnd, B, BEnd int }

// lines cuts text after each newline.
func lines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// compare returns the spans in which two lists of lines differ, in order.
func compare(a, b []string) []span {
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
	case len(ma) == 0 || len(mb) == 0 || len(ma)+len(mb) > maxDiffLines:
		return []span{{pre, pre + len(ma), pre, pre + len(mb)}}
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = diffTime
	ra, rb, _ := dmp.DiffLinesToRunes(strings.Join(ma, ""), strings.Join(mb, ""))
	var list []span
	x, y := pre, pre
	for _, d := range dmp.DiffMainRunes(ra, rb, false) {
		n := len([]rune(d.Text))
		if d.Type == diffmatchpatch.DiffEqual {
			x, y = x+n, y+n
			continue
		}
		if k := len(list) - 1; k < 0 || list[k].AEnd != x || list[k].BEnd != y {
			list = append(list, span{x, x, y, y})
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

// isBinary is git's own guess: a NUL in the first 8000 bytes.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// mergeLines applies what changed from base to ours and from base to theirs.
// Changes that overlap or touch must be equal, or there is no merge.
func mergeLines(base, ours, theirs []string) ([]string, bool) {
	a, b := compare(base, ours), compare(base, theirs)
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
		default:
			return nil, false
		}
		pos, a, b = hi, a[na:], b[nb:]
	}
	return append(out, base[pos:]...), true
}

// rebuild returns what base became from line lo on, on one side.
func rebuild(base []string, lo int, side []string, spans []span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, base[lo:s.A]...)
		out = append(out, side[s.B:s.BEnd]...)
		lo = s.AEnd
	}
	return append(out, base[lo:]...)
}
