package patch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// definers are words that begin definitions in many languages.
var definers = []string{"class", "def", "enum", "fn", "fun", "func", "function", "impl", "interface", "module", "namespace", "record", "struct", "sub", "trait", "type"}

// modifiers are words that may stand before those.
var modifiers = []string{"abstract", "async", "const", "default", "export", "final", "internal", "override", "private", "protected", "pub", "public", "static", "void"}

// defined returns the words of a line that defines something, up to the name that it
// defines, or nil. A heading is what stands behind @@: there any line with a bracket
// is a definition, such as "int main(void)".
func defined(line string, heading bool) []string {
	line = strings.TrimLeft(line, " \t")
	words := strings.FieldsFunc(line, notInName)
	if strings.IndexFunc(line, notInName) == 0 { // a comment
		return nil
	}
	i := 0
	for i < len(words) && slices.Contains(modifiers, words[i]) {
		i++
	}
	if i+1 >= len(words) {
		return nil
	}
	known := slices.Contains(definers, words[i])
	receiver, rest, method := strings.Cut(line, ")") // of Go
	if method = method && strings.HasPrefix(receiver, "func ("); !method {
		receiver, rest = "", line
	}
	head, _, called := strings.Cut(rest, "(")
	switch {
	case !known && (!heading || !called):
		return nil
	case called:
		if words = strings.FieldsFunc(receiver+" "+head, notInName); len(words) == 0 || len(words) == 1 && known {
			return nil // it has no name
		}
		return words
	}
	return words[:i+2]
}

func notInName(r rune) bool {
	return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// missing returns an error when the definition that a hunk names, behind @@ or in its
// context, is not in the file: then its lines, where they are, are not those meant.
func (p *applier) missing(h hunk) error {
	if h.block {
		return nil
	}
	const most = 50 // lines of context that are looked at
	named := []string{h.section}
	for _, l := range h.lines {
		if l.op == ' ' && len(named) <= most {
			named = append(named, l.text)
		}
	}
	for i, line := range named {
		words := defined(line, i == 0)
		if words == nil || len(line) > 70 && strings.HasSuffix(line, words[len(words)-1]) || p.defines(words) { // git cuts long lines off
			continue
		}
		return fmt.Errorf("apply edit: %s is for %q, which is not in the file: the edit was made for another state of it; read the file again", h.describe(p.index, p.total), strings.TrimSpace(cut(line)))
	}
	return nil
}

// defines reports whether a line of the file, as it is or as it was before the edit,
// defines what the words do. It may have more of them.
func (p *applier) defines(words []string) bool {
	return len(definitions(p.doc.lines, words)) > 0 || len(definitions(p.before, words)) > 0
}

// definitions returns the indexes of the lines that define what the words do.
func definitions(lines []line, words []string) (out []int) {
	name := words[len(words)-1]
	for i, l := range lines {
		if !strings.Contains(l.text, name) {
			continue
		}
		has, n := defined(l.text, true), 0
		for _, w := range has {
			if n < len(words) && w == words[n] {
				n++
			}
		}
		if n == len(words) && has[len(has)-1] == name {
			out = append(out, i)
		}
	}
	return out
}

// scope is where the definition that a hunk names can hold it: a region that begins
// behind index from and before to.
type scope struct{ from, to int }

// scopes returns the scopes of a hunk's definition, in order, or none where it names
// none that the file has.
func (p *applier) scopes(h hunk) (out []scope) {
	words := defined(h.section, true)
	if words == nil || h.block {
		return nil
	}
	found := definitions(p.doc.lines, words)
	const most = 20
	if len(found) > most {
		return nil // it tells nothing
	}
	for _, s := range found {
		kind, indent := defined(p.doc.lines[s].text, true)[0], compare.Indent(p.doc.lines[s].text)
		end := slices.IndexFunc(p.doc.lines[s+1:], func(l line) bool {
			next := defined(l.text, true)
			return next != nil && next[0] == kind && compare.Indent(l.text) == indent
		})
		if end < 0 {
			end = len(p.doc.lines)
		}
		out = append(out, scope{s - len(h.old()), s + 1 + end}) // the line itself may be in the hunk
	}
	return out
}

// within reports whether a region that begins at index at is in one of the scopes.
func within(scopes []scope, at int) bool {
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(s scope) bool { return at > s.from && at < s.to })
}

// elsewhere reports whether a line that a hunk was located without is in the same
// definition of the file, once, but not near: then another place is meant.
func (d *document) elsewhere(m match) bool {
	const near = 3
	return slices.ContainsFunc(m.hunk.left, func(l leftOut) bool {
		there := d.find([]string{l.text}, compare.Spacing)
		if len(there) != 1 || !telling([]string{l.text}, 3) || distance(there[0], m.at+l.at) <= near {
			return false
		}
		between := d.lines[min(there[0], m.at):max(there[0], m.at)]
		return !slices.ContainsFunc(between, func(s line) bool { return defined(s.text, false) != nil })
	})
}

// evenly reports whether lines that are little more than a bracket are indented as in
// the file, where other lines are the file's: their indentation is all that tells them
// from the next bracket.
func (d *document) evenly(h hunk, at int) bool {
	same, other := false, false
	for i, old := range h.old() {
		now := d.lines[at+i].text
		switch is := compare.Indent(old); {
		case strings.TrimSpace(old) == "":
		case compare.Normal(now, compare.Trailing) == compare.Normal(old, compare.Trailing):
			same = true
		case is != "" && !telling([]string{now}, 3) && strings.Trim(compare.Indent(now), is[:1]) == "":
			other = true
		}
	}
	return !same || !other
}

// rivalled reports whether a hunk that was matched with tolerance could as well be meant
// for another place: one that agrees with as many of its lines to the letter, context
// that was left out included, or one that has all of them but those to delete. said is
// the index that the hunk's line number means, or -1; it speaks for that place.
func (d *document) rivalled(m match, said int) bool {
	old := m.hunk.old()
	lines := slices.Clone(m.hunk.left)
	stay, behind := m.hunk.context(), len(lines)
	for i, l := range lines {
		if l.at >= 0 {
			behind = min(behind, i)
			stay = append(stay, l.text)
		}
	}
	for i := behind - 1; i >= 0; i-- {
		stay = slices.Insert(stay, 0, lines[i].text)
	}
	for i, text := range old {
		lines = append(lines, leftOut{text, i})
	}
	if m.hunk.fewer && len(old) > len(m.hunk.context()) && len(d.find(stay, compare.Spacing)) > 0 {
		return true
	}
	votes := d.votes(lines)
	votes[said]++
	enough := votes[m.at]
	if !m.hunk.fewer { // all of it fits but for white space
		enough++
	}
	for at, n := range votes {
		if at != m.at && at >= 0 && n >= enough {
			return true
		}
	}
	return false
}

// votes counts, for each index at which a hunk could begin, how many of its telling
// lines are in their places, to the letter.
func (d *document) votes(lines []leftOut) map[int]int {
	const mostAlike = 8 // of one text
	where := map[uint64][]int{}
	for _, l := range lines {
		if k := key(l.text, compare.Trailing); len(where[k]) < mostAlike && telling([]string{l.text}, 3) {
			where[k] = append(where[k], l.at)
		}
	}
	if d.keys[compare.Trailing] == nil {
		d.keys[compare.Trailing] = keysOf(d.lines, compare.Trailing)
	}
	votes := map[int]int{}
	for i, k := range d.keys[compare.Trailing] {
		for _, at := range where[k] {
			votes[i-at]++
		}
	}
	return votes
}
