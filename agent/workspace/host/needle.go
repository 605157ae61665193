package host

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
)

// needles are texts of which every match of an expression contains one.
type needles struct {
	texts [][]byte
	fold  bool // texts are lower case, and match ASCII letters of either case
}

// maxNeedles is the maximum number of texts: larger sets match too often to be useful.
const maxNeedles = 16

// needlesOf returns texts of which every match of an expression contains one. It
// returns no texts if that is unknown.
func needlesOf(re *syntax.Regexp) needles {
	switch re.Op {
	case syntax.OpLiteral:
		return literalNeedle(re)
	case syntax.OpCapture, syntax.OpPlus:
		return needlesOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needlesOf(re.Sub[0])
		}
	case syntax.OpConcat:
		var best needles
		for _, sub := range re.Sub {
			if n := needlesOf(sub); n.worth() > best.worth() {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all needles
		for _, sub := range re.Sub {
			n := needlesOf(sub)
			if len(n.texts) == 0 || len(all.texts) > 0 && n.fold != all.fold {
				return needles{}
			}
			all.texts, all.fold = append(all.texts, n.texts...), n.fold
		}
		if len(all.texts) > maxNeedles {
			return needles{}
		}
		return all
	}
	return needles{}
}

// literalNeedle returns the text of a literal. It returns none for non-ASCII letters
// that ignore case, because they may have more than two forms.
func literalNeedle(re *syntax.Regexp) needles {
	text := []byte(string(re.Rune))
	if re.Flags&syntax.FoldCase == 0 {
		return needles{texts: [][]byte{text}}
	}
	for _, r := range re.Rune {
		if r > unicode.MaxASCII {
			return needles{}
		}
	}
	lower(text, text)
	return needles{texts: [][]byte{text}, fold: true}
}

// worth is the length of the shortest text: longer texts are rarer.
func (n needles) worth() int {
	if len(n.texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(n.texts, func(a, b []byte) int { return len(a) - len(b) }))
}

// hunt is a search for needles in one text.
type hunt struct {
	needles
	in   []byte // the text, in lower case if fold is set
	next []int  // next offset of each needle; len(in) if there is none, -1 if not yet searched
}

// oddCases are the non-ASCII letters that fold to ASCII ones: ſ to s, and K, the Kelvin
// sign, to k.
var oddCases = [][]byte{[]byte("ſ"), []byte("\u212A")}

// in starts a hunt in a text. ok is false if the text has letters that fold
// differently. low is room for a copy of the text.
func (n needles) in(text, low []byte) (h hunt, ok bool) {
	h = hunt{needles: n, in: text, next: make([]int, len(n.texts))}
	for i := range h.next {
		h.next[i] = -1
	}
	if !n.fold {
		return h, true
	}
	for _, odd := range oddCases {
		if bytes.Contains(text, odd) {
			return hunt{}, false
		}
	}
	h.in = low[:len(text)]
	lower(h.in, text)
	return h, true
}

// at returns the offset and the length of the first needle at or after from, or -1 if
// there is none.
func (h *hunt) at(from int) (at, size int) {
	at = -1
	for i, next := range h.next {
		if next < from {
			next = len(h.in)
			if k := bytes.Index(h.in[from:], h.texts[i]); k >= 0 {
				next = from + k
			}
			h.next[i] = next
		}
		if next < len(h.in) && (at < 0 || next < at) {
			at, size = next, len(h.texts[i])
		}
	}
	return at, size
}

// lower writes text to out with its ASCII letters in lower case, eight bytes at a time.
func lower(out, text []byte) {
	const each = 0x0101010101010101
	for len(text) >= 8 {
		w := binary.LittleEndian.Uint64(text)
		ascii := ^w & (0x80 * each)
		low := w &^ (0x80 * each)
		upper := (low + (0x80-'A')*each) &^ (low + (0x80-'Z'-1)*each) & ascii // 0x80 in each byte from A to Z
		binary.LittleEndian.PutUint64(out, w|upper>>2)
		out, text = out[8:], text[8:]
	}
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
}
