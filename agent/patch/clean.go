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
// Handrail's own framing, a code fence with surrounding prose, line numbers, HTML
// entities. Each is stripped only if the whole text has it and before, the old text
// of the file, does not. The notes list the removals.
func Clean(name, before, content string) (text string, notes []string) {
	text = content
	for range 3 { // a heading may enclose a fence that encloses another heading
		was := text
		if s, ok := unframe(name, before, text); ok {
			text, notes = s, append(notes, "The headings and marks of Handrail around the content were taken off.")
		}
		if s, ok := stripFence(name, text); ok && !fenced(before) {
			text, notes = s, append(notes, "The code fence around the content was taken off, with any words beside it.")
		}
		if text == was {
			break
		}
	}
	if s, ok := stripNumbered(name, before, text); ok {
		text, notes = s, append(notes, "Line numbers in front of every line were taken off.")
	}
	if s, ok := unescapeEntities(name, text); ok {
		if _, had := unescapeEntities(name, before); !had {
			text, notes = s, append(notes, "HTML entities were turned into the characters they stand for.")
		}
	}
	return text, slices.Compact(notes)
}

func fenced(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~")
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

// stripFence removes the only fence of s, and lines around it that are typical of a chat
// reply. A text that may legitimately have fences loses one around all of it alone.
func stripFence(name, s string) (string, bool) {
	lines := withoutBlankEnds(splitText(s))
	var at []int
	for i, l := range lines {
		if _, _, ok := fenceLine(l.text); ok {
			at = append(at, i)
		}
	}
	n, last := len(at), len(lines)-1
	if n == 0 {
		return s, false
	}
	tick, info, _ := fenceLine(lines[at[0]].text)
	shut, more, _ := fenceLine(lines[at[n-1]].text)
	whole := at[0] == 0 && at[n-1] == last && tick == shut && more == ""
	switch {
	case prose(name) && !kind(name, " txt "):
		if !whole || n%2 == 1 || !kind("x."+info, " markdown md text txt rst mdx ") {
			return s, false
		}
	case n == 1 && at[0] == 0: // it was never closed
		return textOf(lines[1:]), true
	case n != 2 || tick != shut || more != "" || !whole && !isReply(name, s, lines, at):
		return s, false
	}
	return textOf(lines[at[0]+1 : at[n-1]]), true
}

// isReply reports whether lines around the fence between two indexes are those of a chat
// reply, and the fence is the file.
func isReply(name, s string, lines []line, at []int) bool {
	const output = " sh bash shell console diff text output " // languages of commands and their output
	_, info, _ := fenceLine(lines[at[0]].text)
	if prose(name) || !code(name) || kind("x."+info, output) && !kind(name, output) {
		return false
	}
	said := 0
	for _, w := range slices.Concat(texts(lines[:at[0]]), texts(lines[at[1]+1:])) {
		if said += len(w); w != "" && !talk(name, w) {
			return false
		}
	}
	body := textOf(lines[at[0]+1 : at[1]])
	return 2*len(strings.TrimSpace(body)) >= said && (!syntax.Parsed(name) || syntax.Check(name, s) != nil)
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

// stripNumbers removes the numbers from the front of lines that count up from first with
// one of the signs. It returns the sign, or "" if a line does not fit. A blank line may
// lack its number.
func stripNumbers(lines []string, signs string) (first int, sign string, bare []string) {
	bare = make([]string, len(lines))
	spaced := true
	for i, s := range lines {
		n, now, rest := cutNumber(s)
		switch {
		case now == "" && strings.TrimSpace(s) == "":
			continue
		case now == "" || !strings.Contains(signs, now) || sign != "" && (now != sign || n != first+i):
			return 0, "", nil
		}
		first, sign, bare[i] = n-i, now, rest
		spaced = spaced && (rest == "" || rest[0] == ' ')
	}
	for i := range bare {
		if spaced && (sign == "|" || sign == ":") {
			bare[i] = strings.TrimPrefix(bare[i], " ")
		}
	}
	if first < 1 {
		return 0, "", nil
	}
	return first, sign, bare
}

// stripNumbered removes the line numbers of a whole text, unless they belong to an excerpt
// of the file, the text would be less similar to the old text without them, or files of
// this kind may have them.
func stripNumbered(name, before, s string) (string, bool) {
	lines := splitText(s)
	first, sign, bare := stripNumbers(texts(lines), "|→\t:")
	switch {
	case sign == "", (sign == "\t" || sign == ":") && (!code(name) || kind(name, " yaml yml ")):
		return s, false
	case sign == "|" && before == "":
	case first != 1 || common(before, bare) < common(before, texts(lines)):
		return s, false
	}
	return joinTexts(lines, bare), true
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

// unescapeEntities decodes s if all of it is escaped: it has no bare <, > or &, and
// has an entity in a position where only the character is valid.
func unescapeEntities(name, s string) (string, bool) {
	bare := strings.ContainsAny(entity().ReplaceAllLiteralString(s, ""), "<>&")
	head := strings.TrimLeft(strings.TrimPrefix(s, byteOrderMark), " \t\r\n")
	switch {
	case bare || prose(name) || !entity().MatchString(s):
		return s, false
	case kind(name, " html htm xml svg xhtml vue xsl plist "):
		return html.UnescapeString(s), strings.HasPrefix(head, "&lt;")
	}
	return html.UnescapeString(s), outsideQuotes(s)
}

// entity matches the entities typical of escaped code.
var entity = pattern.Lazy(`&(?:lt|gt|amp|quot|apos|#39|#34|#x27);`)

// outsideQuotes reports whether an entity is outside string literals and comments. No
// language has a use for one there.
func outsideQuotes(s string) bool {
	if strings.Contains(s, "&quot;") && !strings.Contains(s, `"`) {
		return true
	}
	for l := range strings.Lines(s) {
		if strings.Contains(unquoted(l), "&") {
			return true
		}
	}
	return false
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

// talk reports whether a line is typical around a fence in a reply: a sentence, a
// list item, a heading, or the file's name.
func talk(name, s string) bool {
	s = strings.TrimSpace(s)
	bare := strings.TrimSpace(strings.Trim(s, "#*`: "))
	item := strings.TrimLeft(strings.TrimLeft(s, "-*0123456789"), ".) ")
	switch {
	case s == "", strings.EqualFold(path.Base(bare), path.Base(name)), isSentence(s):
		return true
	case item != s, strings.HasPrefix(s, "#"), strings.HasPrefix(s, "**"):
		return !strings.ContainsAny(strings.TrimLeft(item, "#*"), "{};=")
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) && len(strings.Fields(s)) >= 4 && !strings.ContainsAny(s, "{};=\\")
}
