package conversation

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
)

// perItem is what the label and the marks of an item take.
const perItem = 160

// least is the shortest piece that is worth showing.
const least = 200

// space is the room that is left.
type space struct{ left int }

// part is a share of the room that is left.
func (s *space) part(of, in int) int { return s.left * of / in }

func size(it session.Item) int { return perItem + 2*len(it.Name) + len(it.Text) }

// put takes the room of items.
func (s *space) put(items ...session.Item) []session.Item {
	for _, it := range items {
		s.left = max(0, s.left-size(it)) //control:room-of-a-thread
	}
	return items
}

// fit returns an item of a kind whose text is shortened to limit bytes, label and
// all. It reports whether there is room for one that says anything.
func fit(kind session.ItemKind, name, text string, limit int) (session.Item, bool) {
	it := session.Item{Kind: kind, Name: name}
	room := limit - size(it)
	if room < min(least, len(text)) {
		return it, false
	}
	it.Text = shorten(text, room)
	return it, true
}

// shorten cuts a text at the end of a line, or of a word, and says so.
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

// count says how many there are of something.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
