package command

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/typo"
)

// Near returns the command or mode that a text is only a typo away from, and the ids after its first
// word. The name is empty if there is none. "all" may stand in place of ids, and a reason behind them.
func (t Table) Near(text string) (name string, ids []string) {
	words := strings.Fields(strings.ToLower(text))
	for i, word := range words {
		word = strings.TrimFunc(requestID(word), isMark)
		if i == 0 {
			name = t.nearest(word)
			continue
		}
		if isAnother(word) {
			ids = append(ids, word)
			continue
		}
		if word == "all" && len(words) == 2 && t.takesAll(name) || name != "" && len(ids) > 0 { //control:near-with-its-words
			return name, ids
		}
		return "", nil
	}
	return name, ids
}

// takesAll reports whether "all" is an argument of a command.
func (t Table) takesAll(name string) bool {
	c, err := t.parse(name + " all")
	return err == nil && c.All
}

// nearest returns the command or mode with a name one typing error away from word, or two
// for a long name. It returns "" if there is none.
func (t Table) nearest(word string) string {
	names := slices.Clone(modes[:])
	for _, s := range t {
		if s.Name != Task {
			names = append(names, s.Name)
		}
	}
	best, name := 3, ""
	for _, n := range names {
		if len(n) < 4 || utf8.RuneCountInString(word) > len(n)+2 {
			continue
		}
		if d := typo.Errors(word, n); d > 0 && d <= 1+len(n)/7 && d < best {
			best, name = d, n
		}
	}
	return name
}

// Instructs reports whether a text has the form of an instruction: more than one word,
// and no question; or it is [IsFix].
func Instructs(text string) bool {
	return !IsQuestion(text) && (len(strings.Fields(text)) > 1 || IsFix(text))
}

// fixWord is the handbook's verb for a change.
const fixWord = "fix"

// IsFix reports whether a text is "fix" alone, which like the name of a mode alone asks for
// the task of its thread.
func IsFix(text string) bool {
	word, rest := cutVerb(strings.TrimSpace(text))
	return strings.EqualFold(word, fixWord) && strings.TrimFunc(rest, isMark) == "" //control:fix-is-a-request
}

// explainWord is the handbook's verb for an answer.
const explainWord = "explain"

// IsExplain reports whether a text begins with "explain", which like "ask" wants an answer.
func IsExplain(text string) bool {
	word, _ := cutVerb(strings.TrimSpace(text))
	return strings.EqualFold(word, explainWord)
}

// IsQuestion reports whether a text ends like a question.
func IsQuestion(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '!' || r == ')' })
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune("?？؟", last)
}
