package command

import (
	"slices"
	"strings"
)

// seenIn returns what a reader sees of body, with its commands marked. What stands
// around a command decides that too: a definition above it makes a link of words in it,
// whose label nobody sees. Names are those that it was read with.
func seenIn(body string, show func(string) string, names []string) (p marked, shown string) {
	text := lines(body)
	p = markedIn(text, slices.DeleteFunc(mentions(text, names...), func(m mention) bool { return !m.said }))
	return p, show(p.body)
}

// Seen returns what a reader sees of the free text of a command that was read from
// body; show says what a reader sees of a whole text. It reports false when there is no
// such command.
func (t Table) Seen(body string, c Command, show func(string) string, names ...string) (string, bool) {
	s, text := seenIn(body, show, names)
	if c.Place >= s.said {
		return "", false
	}
	if _, behind, ok := strings.Cut(text, s.mark(c.Place)); ok {
		text, _, _ = strings.Cut(behind, s.mark(c.Place+1))
	}
	text = s.plain(text)
	if seen, err := t.parse(text); err == nil && seen.Name == c.Name {
		return seen.Text, true
	}
	return text, true
}

// Above returns what a reader sees above the first command of body, "" for nothing.
func Above(body string, show func(string) string, names ...string) string {
	s, text := seenIn(body, show, names)
	above, _, ok := strings.Cut(text, s.mark(0))
	if !ok {
		return ""
	}
	return s.plain(above)
}
