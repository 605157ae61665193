package patch

import (
	"fmt"
	"strings"
)

// nearest returns the region of d most similar to want, for error messages: the one
// with the most lines of want at the same offsets, or else a line with few wrong
// characters, and a description of those. n is 0 if nothing is similar.
func (d *document) nearest(want []string) (from, n int, differ string) {
	best := d.likeliest(want, spacing, -1)
	if len(best) == 0 {
		return d.alike(want)
	}
	from = max(0, best[0])
	return from, min(len(want), len(d.lines)-from), ""
}

// Limits of the search for a line with a few wrong characters.
const (
	alikeWork = 1 << 22 // pairs of bytes to compare
	alikeLong = 400     // bytes per line
)

// alike returns the line of d with the piece nearest to a line of want, and a
// description of the difference. n is 0 if nothing is near.
func (d *document) alike(want []string) (from, n int, differ string) {
	work := alikeWork
	for _, w := range want {
		w = strings.TrimSpace(w)
		if len(w) > alikeLong || !telling([]string{w}, 3) {
			continue
		}
		best, piece := len(w)/5+1, "" // one character in five may be wrong
		for i, l := range d.lines {
			if len(l.text) > alikeLong || len(l.text)+best < len(w) {
				continue
			}
			if work -= len(w) * len(l.text); work < 0 {
				break
			}
			if p, far := nearPiece(w, l.text, best); far < best {
				best, piece, from = far, p, i
			}
		}
		if piece == w {
			return from, 1, ""
		}
		if piece != "" { //control:wrong-character
			return from, 1, difference(from, []rune(w), []rune(strings.ToValidUTF8(piece, "")))
		}
	}
	return 0, 0, ""
}

// nearPiece returns the piece of line with the smallest edit distance in bytes to w,
// and that distance. The search is limited to distances below limit; otherwise changes
// is limit.
func nearPiece(w, line string, limit int) (piece string, changes int) {
	type cell struct{ cost, start int }
	row := make([]cell, len(w)+1)
	for j := range row {
		row[j].cost = j
	}
	changes = limit
	for i := range len(line) {
		diagonal := row[0]
		row[0] = cell{0, i + 1}
		for j := range len(w) {
			best := diagonal
			if w[j] != line[i] {
				best.cost++
			}
			for _, c := range [...]cell{row[j+1], row[j]} {
				if c.cost+1 < best.cost {
					best = cell{c.cost + 1, c.start}
				}
			}
			diagonal, row[j+1] = row[j+1], best
		}
		if last := row[len(w)]; last.cost < changes {
			changes, piece = last.cost, line[last.start:i+1]
		}
	}
	return piece, changes
}

// difference describes the point at which the sent line and the file's line differ.
func difference(at int, sent, file []rune) string {
	a, b := commonEnds(sent, file)
	return fmt.Sprintf("Line %d is like it: behind %q the file has %q where you have %q.\n",
		at+1, string(sent[max(0, a-20):a]), string(file[a:len(file)-b]), string(sent[a:len(sent)-b]))
}
