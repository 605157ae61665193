package fragment

import (
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

// Only returns of text the function that a model was asked for, with its imports and the new
// definitions that it uses. Models add examples, tests and other versions of the rest, of which before,
// the file, knows more. It returns text as it is if the function is missing.
func Only(name, before, text, function string) string {
	is, old := definitions(name, text), definitions(name, before)
	first := named(is, function)
	if first == nil || named(old, function) == nil {
		return text
	}
	all := strings.Split(text, "\n")
	kept := []definition{*first}
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
