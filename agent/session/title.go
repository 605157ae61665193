package session

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// maxTitle is the maximum length of the title of a change, in characters.
const maxTitle = 72

// Title checks a title that a model gave to a change, and returns it without decoration, or
// "" if it is none: one line of at most 72 characters, with a verb in front as in an order,
// that names no file but the changed ones, and no tests where none changed. Only its form is judged.
func Title(said string, files []FileChange) string {
	said = strings.TrimSpace(said)
	if strings.Contains(said, "\n") {
		return ""
	}
	said = strings.TrimRight(strings.Trim(strings.TrimLeft(said, "-•> "), "\"“”'*# "), ".。")
	if strings.HasPrefix(said, "`") && strings.HasSuffix(said, "`") {
		said = strings.Trim(said, "`")
	}
	said = withoutKey(said) // of an issue: [Convention.Fit] takes it from the request
	front, what := "", said
	if mark := gitmoji().FindString(what); mark != "" {
		front, what = mark, what[len(mark):]
	}
	if first, _, _ := strings.Cut(what, " "); strings.HasSuffix(first, ":") { // pkg: what, type(scope): what
		front, what = front+first+" ", strings.TrimPrefix(what, first+" ")
	}
	first, rest, _ := strings.Cut(what, " ")
	switch {
	case utf8.RuneCountInString(said) > maxTitle || !utf8.ValidString(said) || strings.Count(said, "`")%2 == 1:
		return ""
	case strings.ContainsAny(strings.Replace(said, "!: ", ": ", 1), "<>[]{}|\\?!@#*~%") || strings.Contains(said, "://"): //control:title-is-plain
		return ""
	case strings.ContainsFunc(what, func(r rune) bool { return !unicode.IsPrint(r) }) || preface().MatchString(said): //control:title-is-printed
		return ""
	case !isOrder(first, rest) || !namesOnly(said, files) || claimsTests(what, files): //control:title-of-the-change
		return ""
	}
	if front == "" || front == gitmoji().FindString(said) {
		r, size := utf8.DecodeRuneInString(what)
		return front + string(unicode.ToUpper(r)) + what[size:]
	}
	return said
}

var (
	// gitmoji matches the picture in front of a subject, see gitmoji.dev.
	gitmoji = pattern.Lazy(`^(?:(?::[a-z0-9_+]+:|[\x{2600}-\x{27bf}\x{2b00}-\x{2bff}\x{1f000}-\x{1faff}]\x{fe0f}?)\s*)+`)
	// preface matches the words with which models introduce a title in place of giving it.
	preface = pattern.Lazy(`(?i)^(?:title|subject|(?:commit|pull request|pr) (?:title|subject|message))\s*:`)
	// addsTests matches words that say that a change has tests.
	addsTests = pattern.Lazy(`(?i)\b(?:add|with|include|write|cover)\b.*\b(?:unit |regression )?tests?\b|\ball tests\b|\btests pass`)
)

// claimsTests reports whether a title says that there are new tests, and no changed file is one.
func claimsTests(title string, files []FileChange) bool {
	return addsTests().MatchString(title) &&
		!slices.ContainsFunc(files, func(f FileChange) bool { return workspace.IsTest(f.Path) })
}

// isOrder reports whether the first word of a title can be a verb as in an order, by its form. rest
// is the text behind it. Chinese and Japanese have no blanks between words, and their verbs no such forms.
func isOrder(word, rest string) bool {
	blankless := func(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }
	if strings.ContainsFunc(word, blankless) {
		return utf8.RuneCountInString(word) >= minHan && !strings.HasPrefix(word, "已")
	}
	word = strings.ToLower(word)
	if rest == "" || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' }) || strings.HasPrefix(word, "-") {
		return false
	}
	if slices.Contains(noOrders, word) {
		return false
	}
	for _, end := range [...]string{"ed", "ing"} {
		if strings.HasSuffix(word, end) && len(word) > len(end)+2 && !strings.HasSuffix(word, "eed") && word != "embed" {
			return false
		}
	}
	return !strings.HasSuffix(word, "s") || strings.HasSuffix(word, "ss")
}

// minHan is the minimum length of a title without blanks, in characters.
const minHan = 4

// noOrders are words of the closed classes, and forms of the past without an ending, with which models begin
// sentences that are no orders.
var noOrders = strings.Fields(`a an the this that these those i i've we you it he they my your our here there now so sure okay ok yes
	certainly and but because all some no not in on at for of with by to from as
	made did got ran built wrote rewrote sent kept broke found gave took threw chose began brought caught left lost sped went was were`)

// namesOnly reports whether each word of a title that has the form of a file's name is the
// name of a changed file.
func namesOnly(title string, files []FileChange) bool {
	for word := range strings.FieldsSeq(title) {
		word = strings.Trim(word, "`'\"(),;:")
		if ext := path.Ext(word); !strings.Contains(word, "/") && (len(ext) < 2 || !unicode.IsLetter(rune(ext[1]))) {
			continue
		}
		named := false
		for _, f := range files {
			for _, name := range [...]string{f.Path, f.From} {
				named = named || name != "" && (name == word || strings.HasSuffix(name, "/"+word) || strings.HasPrefix(name, word))
			}
		}
		if !named {
			return false
		}
	}
	return true
}
