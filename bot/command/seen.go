package command

import (
	"fmt"
	"slices"
	"strings"
)

// Seen returns what a reader sees of the free text of a command that was read from
// body; show says what a reader sees of a whole text. What stands outside the command
// decides that too: a definition above it makes a link of words in it, whose label
// nobody sees. It reports false when there is no such command.
func (t Table) Seen(body string, c Command, show func(string) string) (string, bool) {
	text := lineEnds.Replace(body)
	list := slices.DeleteFunc(mentions(text), func(m mention) bool { return !m.said })
	if c.Place >= len(list) {
		return "", false
	}
	word := "agentword"
	for strings.Contains(strings.ToLower(text), word) {
		word += "q"
	}
	mark := func(i int) string { return fmt.Sprintf("%s%dz", word, i) }
	var marked strings.Builder
	done := 0
	for i, m := range list {
		marked.WriteString(text[done:m.at] + mark(i))
		done = m.end
	}
	shown := show(marked.String() + text[done:])
	if _, behind, ok := strings.Cut(shown, mark(c.Place)); ok {
		shown, _, _ = strings.Cut(behind, mark(c.Place+1))
	}
	for i := range list {
		shown = strings.ReplaceAll(shown, mark(i), Prefix)
	}
	if seen, _, err := t.parse(shown); err == nil && seen.Name == c.Name {
		return seen.Text, true
	}
	return strings.TrimSpace(shown), true
}
