package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/custom"
	"github.com/handrail-bot/handrail/bot/render/usage"
	"github.com/handrail-bot/handrail/policy/typo"
)

// Book holds a repository's own commands.
type Book struct{ custom.Book }

// MayCallOwn reports whether a task may call one of a repository's own commands.
func MayCallOwn(text string) bool { return custom.MayBeName(ownName(text)) }

// ownName returns the first word of a task as the name of a command.
func ownName(text string) string {
	word, _ := cutVerb(text)
	return strings.ToLower(word)
}

// FindOwn returns the repository's own command that a task calls, and the text after
// its name.
func FindOwn(list Book, text string) (c custom.Command, rest string, ok bool) {
	_, rest = cutVerb(text)
	c, ok = list.Find(ownName(text))
	return c, strings.TrimSpace(strings.TrimLeftFunc(rest, func(r rune) bool { return isPause(r) && r != '.' })), ok
}

// Taken returns the reason why a name is not available for another command, or "": it is
// a command or a mode here, or so close to a command that a typo would run the wrong one.
func (t Table) Taken(name string) string {
	name = strings.ToLower(name)
	switch {
	case slices.ContainsFunc(t, func(s Spec) bool { return s.Name == name }):
		return fmt.Sprintf(usage.IsCommand, prefix, name)
	case slices.Contains(modes[:], name):
		return fmt.Sprintf(usage.IsMode, prefix, name)
	}
	for _, s := range t {
		most := 1
		if s.Grants {
			most = 2
		}
		if len(s.Name) > 3 && s.Name != Task && typo.Errors(name, s.Name) <= most {
			return fmt.Sprintf(usage.IsNear, prefix, s.Name)
		}
	}
	return ""
}
