package patch

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/patch/syntax"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// NotParsed separates a file from its first fault in messages of the edit tools.
const NotParsed = " does not parse: "

// Syntax returns the first fault in a file's text, with its position, or nil; see
// [syntax.Check]. It checks written texts, and ignores unknown kinds of files.
func Syntax(name, text string) error { return syntax.Check(name, text) }

// Garbage returns an error if the text of a new or wholly replaced file cannot be of
// its kind, because it is a chat reply with code in it, or a part of one. before is
// the old text, if any.
func Garbage(name, before, text string) error {
	lines := withoutBlankEnds(splitText(strings.TrimPrefix(text, byteOrderMark)))
	if len(lines) == 0 || prose(name) || !code(name) {
		return nil
	}
	first := lines[0].text
	had := withoutBlankEnds(splitText(strings.TrimPrefix(before, byteOrderMark)))
	if len(had) > 0 && had[0].text == first || syntax.Parsed(name) && syntax.Check(name, text) == nil {
		return nil
	}
	why := ""
	_, _, fence := fenceLine(first)
	switch {
	case fence:
		why = "which is a code fence"
	case sentence(first):
		why = "which is a sentence and no code"
	case strings.EqualFold(path.Ext(name), ".json") && !value().MatchString(first):
		why = "with which no JSON begins"
	}
	if why == "" { //control:no-prose-in-code
		return nil
	}
	return fmt.Errorf("nothing was written, because the content begins with %q, %s. "+
		"Send the complete text of %s alone: no words before or behind it, and no fence around it", cut(first), why, name)
}

// value matches the beginning of JSON, with or without comments.
var value = pattern.Lazy(`^\s*(?:[{\["/-]|\d|(?:true|false|null)\b)`)

// code reports whether a compiler, an interpreter or a parser reads files of this
// name, so that no sentence can be at their beginning.
func code(name string) bool {
	const kinds = " go py pyi js mjs cjs jsx ts mts cts tsx rb rs java kt scala swift c h cc cpp hpp cs sh bash zsh lua css scss " +
		"less json jsonc yaml yml toml sql dart ex exs vue svelte "
	ext := strings.TrimPrefix(path.Ext(name), ".")
	return ext != "" && strings.Contains(kinds, " "+strings.ToLower(ext)+" ")
}

// sentence reports whether a line is a sentence of a chat reply: it has the
// beginning, the words and the end of one, and no characters typical of code.
func sentence(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	rest := strings.TrimRight(s, " \t*")
	end, _ := utf8.DecodeLastRuneInString(rest)
	words := len(strings.Fields(s)) >= 3 || r >= 0x2e80 && utf8.RuneCountInString(s) >= 4 // or a script without spaces
	begins := unicode.IsUpper(r) || r >= 0x80 && unicode.IsLetter(r)
	if !words || !begins || !strings.ContainsRune(".:!?。：！？", end) || strings.ContainsAny(s, "{}=;<>$\\") ||
		strings.Contains(s, "::") {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[n:])
	return r >= 0x80 || strings.ContainsRune(" '\u2019", next) || unicode.IsLower(next)
}

// talk reports whether a line is typical around a fence in a reply: a sentence, a
// list item, a heading, or the file's name.
func talk(name, s string) bool {
	s = strings.TrimSpace(s)
	bare := strings.TrimSpace(strings.Trim(s, "#*`: "))
	item := strings.TrimLeft(strings.TrimLeft(s, "-*0123456789"), ".) ")
	switch {
	case s == "", strings.EqualFold(path.Base(bare), path.Base(name)), sentence(s):
		return true
	case item != s, strings.HasPrefix(s, "#"), strings.HasPrefix(s, "**"):
		return !strings.ContainsAny(strings.TrimLeft(item, "#*"), "{};=")
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) && len(strings.Fields(s)) >= 4 && !strings.ContainsAny(s, "{};=\\")
}

// gutter matches a line number in the format of cat -n and similar programs.
var gutter = pattern.Lazy(`^( *)(\d{1,6})(\t|→|:|$)(.*)$`)

// stripGutter removes line numbers that count from 1 from a whole text, in the
// formats that [stripNumbered] does not cover. It leaves tables of numbers alone, and
// texts that would be less similar to the old text without the numbers.
func stripGutter(name, before, s string) (string, bool) {
	lines := splitText(s)
	bare, sign, padded := gutters(texts(lines))
	ext := strings.ToLower(path.Ext(name))
	sure := sign == "→" || sign == "\t" && (padded || code(name)) ||
		sign == ":" && code(name) && ext != ".yaml" && ext != ".yml"
	if !sure || common(before, bare) < common(before, texts(lines)) {
		return s, false
	}
	return joinTexts(lines, bare), true
}

// gutters returns lines without line numbers that count from 1, the separator after
// the numbers, and whether they are padded to a width of six, as by cat -n. The
// separator is empty if a line does not fit. A blank line may lack its number.
func gutters(lines []string) (bare []string, sign string, padded bool) {
	bare, padded = make([]string, len(lines)), true
	for i, s := range lines {
		m := gutter().FindStringSubmatch(s)
		if m == nil && strings.TrimSpace(s) == "" {
			continue
		}
		if m == nil || m[2] != strconv.Itoa(i+1) || m[3] != "" && sign != "" && m[3] != sign {
			return nil, "", false
		}
		if m[3] != "" {
			sign = m[3]
		}
		padded = padded && (len(m[1])+len(m[2]) >= 6 || i < 9 && m[1] != "")
		bare[i] = m[4]
	}
	spaced := func(s string) bool { return s == "" || s[0] == ' ' }
	if sign == ":" && !slices.ContainsFunc(bare, func(s string) bool { return !spaced(s) }) {
		for i := range bare {
			bare[i] = strings.TrimPrefix(bare[i], " ")
		}
	}
	return bare, sign, padded
}

// common returns the number of lines that a text shares with lines.
func common(text string, lines []string) (n int) {
	left := map[string]int{}
	for _, l := range splitText(text) {
		left[l.text]++
	}
	for _, l := range lines {
		if left[l] > 0 {
			left[l]--
			n++
		}
	}
	return n
}
