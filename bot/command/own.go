package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/custom"
	"github.com/handrail-bot/handrail/bot/render/usage"
	"github.com/handrail-bot/handrail/policy/typo"
)

// Book is the commands of a repository's own.
type Book struct{ custom.Book }

// call is a text as the call of a command that is not in the table: its first word, and
// what stands behind it.
type call struct{ name, rest string }

// MayCallOwn reports whether a task can be the call of a command of a repository's own.
func MayCallOwn(text string) bool { return len(callsOf(text)) > 0 }

// OwnCalled returns the command of the repository's own that a task calls, and what
// stands behind it.
func OwnCalled(list Book, text string) (c custom.Command, rest string, ok bool) {
	for _, call := range callsOf(text) {
		if c, ok = list.Find(call.name); ok {
			return c, call.rest, true
		}
	}
	return c, "", false
}

// callsOf returns how a task can be read as a call: from its first word on, and behind
// the courtesies before it.
func callsOf(text string) []call {
	var out []call
	for _, said := range []string{text, afterPlease(text)} {
		word, rest := cutVerb(said)
		rest = strings.TrimLeftFunc(rest, func(r rune) bool { return isPause(r) && r != '.' })
		if c := (call{strings.ToLower(word), strings.TrimSpace(rest)}); custom.MayBeName(c.name) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// Taken returns why a name cannot be that of another command, "" when it can: it is one
// here, a mode, a word that answers, or so close to one that a slip of the keyboard would
// do something else.
func (t Table) Taken(name string) string {
	name = strings.ToLower(name)
	switch {
	case slices.ContainsFunc(t, func(s Spec) bool { return s.Name == name }):
		return fmt.Sprintf(usage.IsCommand, prefix, name)
	case slices.Contains(modes[:], name):
		return fmt.Sprintf(usage.IsMode, prefix, name)
	case yes[name], no[name], polite[name], thanks[name], courtesy.MatchString(name + " "):
		return usage.IsAnswer
	}
	for _, s := range t {
		most := 1
		if s.Grants || s.Name == denies {
			most = 2
		}
		if len(s.Name) > 3 && s.Name != Task && typo.Errors(name, s.Name) <= most {
			return fmt.Sprintf(usage.IsNear, prefix, s.Name)
		}
	}
	return ""
}
