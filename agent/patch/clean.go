package patch

import (
	"fmt"
	"html"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/patch/syntax"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Clean strips the wrapping that weak models put around the text of a whole file:
// Handrail's own framing, a code fence with words around it, line numbers, HTML entities. Each is stripped only if
// the whole text has it and before, the old text of the file, does not. The notes list the removals.
func Clean(name, before, content string) (text string, notes []string) {
	text = content
	first, _, _ := strings.Cut(strings.TrimSpace(before), "\n")
	_, _, fenced := fenceLine(first)
	for range 3 { // a heading may enclose a fence that encloses another heading
		was := text
		if s, ok := unframe(name, before, text); ok {
			text, notes = s, append(notes, "The headings and marks of Handrail around the content were taken off.")
		}
		if s, ok := stripFence(name, text); ok && !fenced {
			text, notes = s, append(notes, "The code fence around the content was taken off, with any words beside it.")
		}
		if text == was {
			break
		}
	}
	if s, ok := stripNumbered(before, text); ok {
		text, notes = s, append(notes, "Line numbers in front of every line were taken off.")
	}
	if s, ok := unescapeMarkup(name, text); ok {
		text, notes = s, append(notes, "HTML entities were turned into the characters they stand for.")
	}
	return text, slices.Compact(notes)
}

// prose reports whether a file of this name may legitimately begin or end with a code
// fence, or contain entities.
func prose(name string) bool { return kind(name, writing) }

// code reports whether a compiler, an interpreter or a parser reads files of this
// name, so that no sentence can be at their beginning.
func code(name string) bool {
	return kind(name, " go py pyi js mjs cjs jsx ts mts cts tsx rb rs java kt scala swift c h cc cpp hpp cs sh bash zsh "+
		"lua css scss less json jsonc yaml yml toml sql dart ex exs vue svelte ")
}

// unframe removes Handrail's framing around a text. Lines of the old text stay.
func unframe(name, before, s string) (string, bool) {
	if kind(name, records) { // they may be of Handrail's output
		return s, false
	}
	lines, had := splitText(s), trimmedSet(splitText(before))
	framed := func(l line) bool {
		t := strings.TrimSpace(l.text)
		return frame().MatchString(t) && !had[t]
	}
	from, to := trimEnds(lines, func(l line) bool { return isBlank(l.text) || framed(l) })
	head, tail := slices.ContainsFunc(lines[:from], framed), slices.ContainsFunc(lines[to:], framed)
	switch {
	case from == to || !head && !tail:
		return s, false
	case !head:
		from = 0
	case !tail:
		to = len(lines)
	}
	return textOf(lines[from:to]), true
}

// stripFence removes the only fence of s, and the words of a reply around it. A text that may
// legitimately have fences loses one of its own kind, around all of it, alone.
func stripFence(name, s string) (string, bool) {
	lines := withoutBlankEnds(splitText(s))
	var at []int
	for i, l := range lines {
		if _, _, ok := fenceLine(l.text); ok {
			at = append(at, i)
		}
	}
	n := len(at)
	if n == 0 {
		return s, false
	}
	from, to := at[0], at[n-1]
	tick, info, _ := fenceLine(lines[from].text)
	shut, more, _ := fenceLine(lines[to].text)
	closed := n > 1 && tick == shut && more == ""
	whole := closed && from == 0 && to == len(lines)-1
	switch {
	case prose(name) && !kind(name, " txt "):
		if !whole || n%2 == 1 || !kind("x."+info, " markdown md text txt rst mdx ") {
			return s, false
		}
	case n == 1 && from == 0: // it was never closed
		to = len(lines)
	case n != 2 || !closed || !whole && !isReply(name, info, s, append(lines[:from:from], lines[to+1:]...)):
		return s, false
	}
	return textOf(lines[from+1 : to]), true
}

// isReply reports whether a text is a chat reply with a file in its fence, and around are the lines of
// a reply: without signs of code, shorter than the file, and begun by a sentence or the file's name.
func isReply(name, info, s string, around []line) bool {
	const output = " sh bash shell console diff text output " // languages of commands and their output
	said := strings.Join(texts(around), "\n")
	first, _, _ := strings.Cut(said, "\n")
	begins := isSentence(first) || strings.Contains(first, path.Base(name))
	foreign := kind("x."+info, output) && !kind(name, output)
	return code(name) && begins && !foreign && !strings.ContainsAny(said, "{}=;<>$\\") && 3*len(said) <= 2*len(s) &&
		(!syntax.Parsed(name) || syntax.Check(name, s) != nil)
}

func withoutBlankEnds(lines []line) []line {
	from, to := trimEnds(lines, func(l line) bool { return strings.TrimSpace(l.text) == "" })
	return lines[from:to]
}

// fenceLine parses a line such as "```go".
func fenceLine(s string) (tick, info string, ok bool) {
	s = strings.TrimRight(s, " \t")
	for _, c := range [...]string{"`", "~"} {
		n := len(s) - len(strings.TrimLeft(s, c))
		if n >= 3 {
			info = strings.TrimSpace(s[n:])
			return s[:n], info, !strings.Contains(info, "`") && len(strings.Fields(info)) <= 2
		}
	}
	return "", "", false
}

// column matches a line number before a line, as programs write it.
var column = pattern.Lazy(`^[ \t]*([0-9]{1,7})( *[|│]|→|\t|:)(.*)$`)

// cutNumber parses a line number before a line. sign is the separator behind it: "|",
// "→", a tab or ":", or "" if there is no number.
func cutNumber(s string) (n int, sign, rest string) {
	m := column().FindStringSubmatch(s)
	if m == nil {
		return 0, "", s
	}
	n, err := strconv.Atoi(m[1])
	sign, rest = m[2], m[3]
	if strings.HasSuffix(sign, "|") || strings.HasSuffix(sign, "│") {
		sign = "|"
	}
	if err != nil || sign == "|" && strings.HasPrefix(rest, "|") {
		return 0, "", s
	}
	return n, sign, rest
}

// stripNumbers removes the numbers of lines that count up from first. first is 0 if a line does
// not fit. A blank line may lack its number.
func stripNumbers(lines []string) (first int, bare []string) {
	bare = make([]string, len(lines))
	spaced := true
	for i, s := range lines {
		n, sign, rest := cutNumber(s)
		switch {
		case sign == "" && isBlank(s):
			continue
		case sign != "|" || n <= i || first > 0 && n != first+i:
			return 0, nil
		}
		first, bare[i] = n-i, rest
		spaced = spaced && (rest == "" || rest[0] == ' ')
	}
	for i := range bare {
		if spaced {
			bare[i] = strings.TrimPrefix(bare[i], " ")
		}
	}
	return first, bare
}

// stripNumbered removes the line numbers of a whole text, unless they belong to an excerpt of the
// file, or the file has some itself.
func stripNumbered(before, s string) (string, bool) {
	lines := splitText(s)
	first, bare := stripNumbers(texts(lines))
	own := slices.ContainsFunc(splitText(before), func(l line) bool { _, sign, _ := cutNumber(l.text); return sign == "|" })
	if first == 0 || own || first > 1 && before != "" {
		return s, false
	}
	for i := range lines {
		lines[i].text = bare[i]
	}
	return textOf(lines), true
}

// unescapeMarkup decodes markup if all of it is escaped.
func unescapeMarkup(name, s string) (string, bool) {
	begins := strings.HasPrefix(strings.TrimSpace(s), "&lt;") && !strings.Contains(s, "<")
	return html.UnescapeString(s), begins && kind(name, markup)
}

// NotParsed separates a file from its first fault in messages of the edit tools.
const NotParsed = " does not parse: "

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
	case isSentence(first):
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

// isSentence reports whether a line is a sentence of a chat reply: it has the
// beginning, the words and the end of one, and no characters typical of code.
func isSentence(s string) bool {
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
