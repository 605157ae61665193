package patch

import (
	"html"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch/syntax"
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
			text, notes = s, append(notes, "the headings and marks of Handrail around the content were taken off")
		}
		if s, ok := stripFence(name, text); ok && !fenced(before) {
			text, notes = s, append(notes, "a code fence around the content was taken off")
		} else if s, ok := soleFence(name, text); ok && !fenced(before) {
			text, notes = s, append(notes, "the words before and behind the code fence were taken off, and the fence")
		}
		if text == was {
			break
		}
	}
	if s, ok := stripNumbered(text); ok {
		if _, had := stripNumbered(before); !had && (before == "" || wholeNumbers(before, text, s)) {
			text, notes = s, append(notes, "line numbers in front of every line were taken off")
		}
	} else if s, ok := stripGutter(name, before, text); ok {
		text, notes = s, append(notes, "line numbers in front of every line were taken off")
	}
	if s, ok := unescapeEntities(name, text); ok {
		if _, had := unescapeEntities(name, before); !had {
			text, notes = s, append(notes, "HTML entities were turned into the characters they stand for")
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
func prose(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".mdx", ".markdown", ".mkd", ".rst", ".txt", ".adoc":
		return true
	}
	return false
}

// stripFence removes a fence that encloses all of s.
func stripFence(name, s string) (string, bool) {
	lines := withoutBlankEnds(splitText(s))
	if len(lines) == 0 {
		return s, false
	}
	last := len(lines) - 1
	tick, info, open := fenceLine(lines[0].text)
	shutTick, shutInfo, shut := fenceLine(lines[last].text)
	shut = open && shut && last > 0 && shutInfo == "" && shutTick[0] == tick[0] && len(shutTick) >= len(tick)
	inner := lines[1:]
	if shut {
		inner = lines[1:last]
	}
	whole := false // the fence encloses everything
	switch {
	case prose(name) && !strings.EqualFold(path.Ext(name), ".txt"):
		whole = open && shut && markdownFence(info, inner)
	case open && shut:
		whole = !closes(inner, tick)
	case open:
		whole = !strings.Contains(strings.Join(texts(inner), "\n"), tick)
	}
	if !whole {
		return s, false
	}
	return textOf(inner), true
}

// soleFence returns the body of the only fence in s if all other lines are typical of
// a chat reply. Kinds of files that may legitimately have both are left alone.
func soleFence(name, s string) (string, bool) {
	if prose(name) || !code(name) {
		return s, false
	}
	lines := splitText(s)
	var at []int
	for i, l := range lines {
		if _, _, ok := fenceLine(l.text); ok {
			at = append(at, i)
		}
	}
	if len(at) != 2 {
		return s, false
	}
	tick, info, _ := fenceLine(lines[at[0]].text)
	last, more, _ := fenceLine(lines[at[1]].text)
	if tick != last || more != "" || isOutputLanguage(info) && !isOutputLanguage(strings.TrimPrefix(path.Ext(name), ".")) {
		return s, false
	}
	words, said := slices.Concat(texts(lines[:at[0]]), texts(lines[at[1]+1:])), 0
	for _, w := range words {
		if said += len(w); w != "" && !talk(name, w) {
			return s, false
		}
	}
	body := textOf(lines[at[0]+1 : at[1]])
	if 2*len(strings.TrimSpace(body)) < said || syntax.Parsed(name) && syntax.Check(name, s) == nil {
		return s, false
	}
	return body, true
}

// isOutputLanguage reports whether a fence's language is that of commands or output, which are
// usually part of a reply and not of the file.
func isOutputLanguage(info string) bool {
	return slices.Contains([]string{"sh", "bash", "shell", "console", "diff", "text", "output"}, strings.ToLower(info))
}

func withoutBlankEnds(lines []line) []line {
	from, to := trimEnds(lines, func(l line) bool { return strings.TrimSpace(l.text) == "" })
	return lines[from:to]
}

// closes reports whether one of the lines closes a fence opened with ticks.
func closes(lines []line, ticks string) bool {
	return slices.ContainsFunc(lines, func(l line) bool {
		t, info, ok := fenceLine(l.text)
		return ok && info == "" && t == ticks
	})
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

// markdownFence reports whether a fence in a text file wraps the whole file rather
// than a part of it.
func markdownFence(info string, inner []line) bool {
	switch strings.ToLower(info) {
	case "markdown", "md", "text", "txt", "rst", "mdx":
	default:
		return false
	}
	open := false
	for _, l := range inner {
		_, i, ok := fenceLine(l.text)
		switch {
		case !ok:
		case i != "":
			if open {
				return false
			}
			open = true
		default:
			open = !open
		}
	}
	return !open
}

// stripNumbered is stripNumbers for a whole text.
func stripNumbered(s string) (string, bool) {
	lines := splitText(s)
	_, bare, ok := stripNumbers(texts(lines))
	if !ok {
		return s, false
	}
	return joinTexts(lines, bare), true
}

// wholeNumbers reports whether the numbers count from 1 and the bare text is at least as
// similar to the old text as the numbered one. Other numbers belong to an excerpt of
// the file.
func wholeNumbers(before, numbered, bare string) bool {
	first, _, _ := stripNumbers(texts(splitText(numbered)))
	return first == 1 && common(before, texts(splitText(bare))) >= common(before, texts(splitText(numbered)))
}

// stripNumbers removes "12 | " from the front of every line. The numbers must
// increase by one; blank lines may lack theirs. A single line counts only if its
// number has the format of read_file.
func stripNumbers(lines []string) (first int, bare []string, ok bool) {
	next, seen := 0, 0
	bare = make([]string, len(lines))
	for i, s := range lines {
		if strings.TrimSpace(s) == "" {
			if next > 0 {
				next++
			}
			continue
		}
		n, rest, numbered := cutNumber(s)
		if !numbered {
			return 0, nil, false
		}
		switch {
		case next == 0:
			first = n - i
		case n != next && n != next-blanksBefore(lines, i):
			return 0, nil, false
		}
		next = n + 1
		seen++
		bare[i] = rest
	}
	return first, bare, seen > 0 && first > 0
}

func blanksBefore(lines []string, i int) int {
	n := 0
	for i--; i >= 0 && strings.TrimSpace(lines[i]) == ""; i-- {
		n++
	}
	return n
}

// cutNumber parses " 12 | text". An empty line may lack the space after the bar.
func cutNumber(s string) (n int, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == 0 || digits > 7 {
		return 0, "", false
	}
	n, err := strconv.Atoi(s[:digits])
	if err != nil {
		return 0, "", false
	}
	after := strings.TrimLeft(s[digits:], " ")
	rest, ok = strings.CutPrefix(after, "|")
	if !ok {
		rest, ok = strings.CutPrefix(after, "\u2502")
	}
	if !ok || strings.HasPrefix(rest, "|") {
		return 0, "", false
	}
	return n, strings.TrimPrefix(rest, " "), true
}

// unescapeEntities decodes s if all of it is escaped: it has no bare <, > or &, and
// has an entity in a position where only the character is valid.
func unescapeEntities(name, s string) (string, bool) {
	if !strings.Contains(s, "&") || strings.ContainsAny(s, "<>") || prose(name) || bareAmpersand(s) {
		return s, false
	}
	head := strings.TrimLeft(strings.TrimPrefix(s, byteOrderMark), " \t\r\n")
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xml", ".svg", ".xhtml", ".vue", ".xsl", ".plist":
		if !strings.HasPrefix(head, "&lt;") {
			return s, false
		}
		return html.UnescapeString(s), true
	}
	if !outsideQuotes(s) {
		return s, false
	}
	return html.UnescapeString(s), true
}

// escapes returns the entities typical of escaped code.
func escapes() []string {
	return []string{"&lt;", "&gt;", "&amp;", "&quot;", "&#39;", "&#34;", "&#x27;", "&apos;"}
}

func bareAmpersand(s string) bool {
	for i := strings.IndexByte(s, '&'); i >= 0; {
		known := false
		for _, e := range escapes() {
			known = known || strings.HasPrefix(s[i:], e)
		}
		if !known {
			return true
		}
		next := strings.IndexByte(s[i+1:], '&')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

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
