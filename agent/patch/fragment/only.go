package fragment

import (
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

// PutOnly replaces a function of before by that of text, with its imports and the new definitions that
// it uses: a model that is asked for one function adds examples, tests and other versions of the rest.
// It returns false if text does not have the function, or only its head.
func PutOnly(name, before, text, function string) (after string, ok bool) {
	is, old := definitions(name, text), definitions(name, before)
	d := named(is, function)
	if d == nil || named(old, function) == nil || isHollow(strings.Split(text, "\n"), *d) {
		return "", false
	}
	after, _, err := Put(name, before, only(name, text, *d, is, old))
	return after, err == nil
}

// only returns the function first of text, within its types, with the imports of text and the new definitions that
// it uses.
func only(name, text string, first definition, is, old []definition) string {
	all := strings.Split(text, "\n")
	kept := []definition{first}
	for i := 0; i < len(kept); i++ {
		words := strings.FieldsFunc(strings.Join(all[kept[i].line:kept[i].to], "\n"), func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		for _, d := range is {
			fresh := named(old, d.name) == nil && slices.Contains(words, lastName(d.name))
			if fresh && !slices.ContainsFunc(kept, func(k definition) bool { return k.line >= d.line && k.line < d.to }) {
				kept = append(kept, d)
			}
		}
	}
	keep := make([]bool, len(all))
	mark := func(from, to int) {
		for i := from; i < to; i++ {
			keep[i] = true
		}
	}
	for _, k := range kept {
		mark(k.from, k.to)
		if k.to < len(all) && strings.TrimSpace(all[k.to]) == "" {
			mark(k.to, k.to+1)
		}
		for _, d := range is {
			if d.line < k.line && d.to >= k.to { // a type or module around it
				mark(d.line, d.line+1)
				if closer().MatchString(all[d.to-1]) {
					mark(d.to-1, d.to)
				}
			}
		}
	}
	rest := text
	if outline.Language(name) == "go" {
		_, rest = importsOf(text)
	}
	without := strings.Split(rest, "\n")
	for i, line := range all {
		if importLine().MatchString(line) || header().MatchString(line) || without[i] != line {
			keep[i] = true
		}
	}
	var out []string
	for i, line := range all {
		if keep[i] {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
