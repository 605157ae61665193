package patch

import (
	"fmt"
	"strings"
)

// How far the search for a line with a few wrong characters goes.
const (
	alikeWork = 1 << 22 // pairs of bytes that are compared
	alikeLong = 400     // bytes of a line
)

// alike returns the line of d that holds a piece nearest to one of the lines of want,
// and how the two differ; n is 0 when nothing is near.
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

// nearPiece returns the piece of line that becomes w by the fewest changes of a byte,
// and how many they are: fewer than most, or most.
func nearPiece(w, line string, most int) (piece string, changes int) {
	cost, start := make([]int, len(w)+1), make([]int, len(w)+1)
	for j := range cost {
		cost[j] = j
	}
	changes = most
	for i := range len(line) {
		diagonal, begun := cost[0], start[0]
		cost[0], start[0] = 0, i+1
		for j := range len(w) {
			c, b := diagonal, begun
			if w[j] != line[i] {
				c++
			}
			if cost[j+1]+1 < c {
				c, b = cost[j+1]+1, start[j+1]
			}
			if cost[j]+1 < c {
				c, b = cost[j]+1, start[j]
			}
			diagonal, begun = cost[j+1], start[j+1]
			cost[j+1], start[j+1] = c, b
		}
		if cost[len(w)] < changes {
			changes, piece = cost[len(w)], line[start[len(w)]:i+1]
		}
	}
	return piece, changes
}

// difference says where a line that was sent and the one of the file part.
func difference(at int, sent, file []rune) string {
	a, b := 0, 0
	for a < min(len(sent), len(file)) && sent[a] == file[a] {
		a++
	}
	for b < min(len(sent), len(file))-a && sent[len(sent)-1-b] == file[len(file)-1-b] {
		b++
	}
	return fmt.Sprintf("Line %d is like it: behind %q the file has %q where you have %q.\n",
		at+1, string(sent[max(0, a-20):a]), string(file[a:len(file)-b]), string(sent[a:len(sent)-b]))
}
