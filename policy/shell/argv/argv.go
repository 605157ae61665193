// Package argv reads the arguments of a command the way programs read them:
// options alone and in clusters, with values and without, and operands.
package argv

import (
	"slices"
	"strings"
)

// Word is one argument after expansion. Where a pattern in it is active, Pat
// is the pattern, with quoted text escaped.
type Word struct{ S, Pat string }

// List is the arguments of a command, without its name.
type List []Word

// Of makes a list of plain words.
func Of(words ...string) List {
	out := make(List, len(words))
	for i, w := range words {
		out[i] = Word{S: w}
	}
	return out
}

// Texts returns the text of each argument.
func (l List) Texts() []string {
	out := make([]string, len(l))
	for i, a := range l {
		out[i] = a.S
	}
	return out
}

// From returns the arguments from i on.
func (l List) From(i int) List { return l[min(max(i, 0), len(l)):] }

// At returns the text of the argument at i, or nothing.
func (l List) At(i int) string {
	if i < 0 || i >= len(l) {
		return ""
	}
	return l[i].S
}

// Has reports whether an option is given: a single letter also inside a
// cluster such as -rf, a long name also shortened or with a value.
func (l List) Has(names ...string) bool {
	for _, a := range l {
		if a.S == "--" {
			return false
		}
		for _, n := range names {
			if isOption(a.S, n) {
				return true
			}
		}
	}
	return false
}

func isOption(word, name string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	if len(name) == 1 {
		return word[1] != '-' && strings.Contains(word[1:], name)
	}
	long := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	long, _, _ = strings.Cut(long, "=")
	return long == name || len(long) >= 4 && strings.HasPrefix(word, "--") && strings.HasPrefix(name, long)
}

// Exactly reports whether one of the words is an argument as it stands.
func (l List) Exactly(words ...string) bool { return l.Index(words...) >= 0 }

// Index returns the place of the first argument that is one of the words, or
// -1.
func (l List) Index(words ...string) int {
	return slices.IndexFunc(l, func(a Word) bool { return slices.Contains(words, a.S) })
}

// Contains reports whether an argument holds a text.
func (l List) Contains(text string) bool {
	return slices.ContainsFunc(l, func(a Word) bool { return strings.Contains(a.S, text) })
}

// Value is the value of an option: -o value, -ovalue, --opt value or
// --opt=value.
func (l List) Value(names ...string) (string, bool) {
	for i, a := range l {
		for _, n := range names {
			if v, ok := l.valueAt(i, a.S, n); ok {
				return v, true
			}
		}
	}
	return "", false
}

func (l List) valueAt(i int, s, name string) (string, bool) {
	dashed, long := "-"+name, len(name) > 1
	if long {
		dashed = "--" + name
	}
	switch {
	case s == dashed || long && s == "-"+name:
		if i+1 < len(l) {
			return l[i+1].S, true
		}
	case long && strings.HasPrefix(s, dashed+"="):
		return s[len(dashed)+1:], true
	case long || len(s) < 3 || s[1] == '-':
	case strings.HasPrefix(s, dashed):
		return s[2:], true
	case s[0] == '-' && name != "":
		return l.clustered(i, name)
	}
	return "", false
}

// clustered is the value of a letter inside a cluster such as -qO.
func (l List) clustered(i int, letter string) (string, bool) {
	before, after, ok := strings.Cut(l[i].S[1:], letter)
	if !ok || len(before) > 4 || strings.Trim(before, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return "", false
	}
	if after == "" && i+1 < len(l) {
		return l[i+1].S, true
	}
	if after != "" && (after[0] < 'A' || after[0] > 'z') {
		return after, true
	}
	return "", false
}

// Values are the values of options that are given with their dashes, each as
// often as it is given: --opt value or --opt=value.
func (l List) Values(options ...string) []string {
	var out []string
	for i, a := range l {
		for _, o := range options {
			if v, ok := strings.CutPrefix(a.S, o+"="); ok {
				out = append(out, v)
			} else if a.S == o && i+1 < len(l) {
				out = append(out, l[i+1].S)
			}
		}
	}
	return out
}

// OperandsAfter returns the arguments that are not options. The options that
// are named take the next argument as their value, which is no operand then:
// of "-o out a b", OperandsAfter("o") is a and b, and OperandsAfter() is out,
// a and b. Name no option that takes no value: an operand would be lost.
func (l List) OperandsAfter(takes ...string) List {
	var out List
	for i := 0; i < len(l); i++ {
		s := l[i].S
		switch {
		case s == "--":
			return append(out, l[i+1:]...)
		case len(s) < 2 || s[0] != '-':
			out = append(out, l[i])
		case Takes(s, takes):
			i++
		}
	}
	return out
}

// Takes reports whether an option is one of those whose value is the next
// argument.
func Takes(word string, takes []string) bool {
	for _, t := range takes {
		if len(t) == 1 {
			if word[1] != '-' && strings.HasSuffix(word, t) && !strings.Contains(word[1:len(word)-1], t) {
				return true
			}
			continue
		}
		if word == "--"+t || word == "-"+t {
			return true
		}
	}
	return false
}

// Command is the place of the first argument that is neither an option nor
// the value of one, or -1: where a command in the arguments begins.
func (l List) Command(takes ...string) int {
	for i := 0; i < len(l); i++ {
		s := l[i].S
		switch {
		case s == "--":
			if i+1 < len(l) {
				return i + 1
			}
			return -1
		case len(s) > 1 && s[0] == '-':
			if Takes(s, takes) {
				i++
			}
		default:
			return i
		}
	}
	return -1
}

// PathsIn lists the parts of an argument that may be a path: all of it, and
// what follows a "=", "@" or ":".
func PathsIn(s string) []string {
	if !strings.ContainsAny(s, "./~_") || strings.Contains(s, " ") {
		return nil
	}
	out := PartsOf(s, len(s))
	if len(s) > 2 && s[0] == '-' && s[1] != '-' {
		out = append(out, s[2:])
	}
	return out
}

// PartsOf is an argument and what follows a "=", "@" or ":" in it.
func PartsOf(s string, limit int) []string {
	out := []string{s}
	for i, c := range s {
		if (c == '=' || c == '@' || c == ':' || c == '<') && i+1 < len(s) && len(out) < limit {
			out = append(out, s[i+1:])
		}
	}
	return out
}
