package conversation

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
)

// perItem is the size of the label and the marks of an item, in bytes.
const perItem = 160

// minPiece is the minimum size of a piece worth showing, in bytes.
const minPiece = 200

// space is the remaining room, in bytes.
type space struct{ left int }

// part returns a fraction of the remaining room.
func (s *space) part(of, in int) int { return s.left * of / in }

func size(it session.Item) int { return perItem + 2*len(it.Name) + len(it.Text) }

// put subtracts the size of items from the room, and returns them.
func (s *space) put(items ...session.Item) []session.Item {
	for _, it := range items {
		s.left = max(0, s.left-size(it)) //control:room-of-a-thread
	}
	return items
}

// fit returns an item with its text shortened to limit bytes, including the label. It
// reports whether there is room for a useful piece.
func fit(kind session.ItemKind, name, text string, limit int) (session.Item, bool) {
	it := session.Item{Kind: kind, Name: name}
	room := limit - size(it)
	if room < min(minPiece, len(text)) {
		return it, false
	}
	it.Text = shorten(text, room)
	return it, true
}

// shorten cuts a text at the end of a line or a word, and notes the omission.
func shorten(text string, limit int) string {
	const cut = "\n[shortened: %d more bytes]"
	if len(text) <= limit {
		return text
	}
	n := max(0, limit-len(cut)-8)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	kept := text[:n]
	for _, end := range []string{"\n", " "} {
		if i := strings.LastIndex(kept, end); i > n*2/3 {
			kept = kept[:i]
			break
		}
	}
	return kept + fmt.Sprintf(cut, len(text)-len(kept))
}

// count formats a number with the right form of a noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
