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

// NotParsed stands in what the edit tools tell, between a file and its first fault.
const NotParsed = " does not parse: "

// Syntax returns the first fault of a file's text, with its place, or nil:
// see [syntax.Check]. It is for texts that are written, and says nothing of other kinds
// of files than those that it knows.
func Syntax(name, text string) error { return syntax.Check(name, text) }

// Garbage returns an error when the text of a new or wholly replaced file is surely none
// of its kind: a reply to a person with code in it, or a part of it. before is the old
// text, if there was one.
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

// value finds with what JSON begins, with comments or without.
var value = pattern.Lazy(`^\s*(?:[{\["/-]|\d|(?:true|false|null)\b)`)

// code reports whether a file of this name is read by a compiler, an interpreter or a
// parser, so that no sentence of a reply belongs at its beginning.
func code(name string) bool {
	const kinds = " go py pyi js mjs cjs jsx ts mts cts tsx rb rs java kt scala swift c h cc cpp hpp cs sh bash zsh lua css scss " +
		"less json jsonc yaml yml toml sql dart ex exs vue svelte "
	ext := strings.TrimPrefix(path.Ext(name), ".")
	return ext != "" && strings.Contains(kinds, " "+strings.ToLower(ext)+" ")
}

// sentence reports whether a line is one of a reply: it begins as a sentence does, has
// words and ends as one, and has no sign that code has and words have not.
func sentence(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	rest := strings.TrimRight(s, " \t*")
	end, _ := utf8.DecodeLastRuneInString(rest)
	words := len(strings.Fields(s)) >= 3 || r >= 0x2e80 && utf8.RuneCountInString(s) >= 4 // scripts without spaces
	begins := unicode.IsUpper(r) || r >= 0x80 && unicode.IsLetter(r)
	if !words || !begins || !strings.ContainsRune(".:!?。：！？", end) || strings.ContainsAny(s, "{}=;<>$\\") || strings.Contains(s, "::") {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[n:])
	return r >= 0x80 || strings.ContainsRune(" '\u2019", next) || unicode.IsLower(next)
}

// talk reports whether a line stands around a fence in a reply: a sentence, an item of a
// list, a heading, or the name of the file.
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

// gutter is a line number as cat -n and other programs show it.
var gutter = pattern.Lazy(`^( *)(\d{1,6})(\t|→|:|$)(.*)$`)

// stripGutter takes line numbers off a whole text that count from one, in the forms that
// [stripNumbered] does not know. A table of numbers is left alone, and what is less like
// the old text without them.
func stripGutter(name, before, s string) (string, bool) {
	lines := splitText(s)
	bare, sign, padded := gutters(texts(lines))
	ext := strings.ToLower(path.Ext(name))
	sure := sign == "→" || sign == "\t" && (padded || code(name)) || sign == ":" && code(name) && ext != ".yaml" && ext != ".yml"
	if !sure || common(before, bare) < common(before, texts(lines)) {
		return s, false
	}
	for i := range lines {
		lines[i].text = bare[i]
	}
	d := document{lines: lines}
	return d.String(), true
}

// gutters returns lines without numbers that count from one, the sign behind all of the
// numbers, and whether they stand in a column of six, as cat -n writes them. The sign is
// empty when not all lines are like that; one that is blank may lack its number.
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

// common counts the lines that a text shares with others.
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
