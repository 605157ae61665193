package patch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// isSearchMarker reports whether a line opens a SEARCH/REPLACE block.
func isSearchMarker(s string) bool {
	rest, ok := marker(s, "<-")
	switch strings.ToUpper(strings.Trim(rest, " <>:")) {
	case "SEARCH", "ORIGINAL", "FIND", "OLD", "BEFORE", "SEARCH BLOCK":
		return ok
	case "HEAD":
		return ok && strings.Contains(s, "<")
	case "":
		return ok && strings.TrimRight(s, " ") == "<<<<<<<"
	}
	return false
}

// isReplaceMarker reports whether a line closes a SEARCH/REPLACE block.
func isReplaceMarker(s string) bool {
	rest, ok := marker(s, ">+")
	switch strings.ToUpper(strings.Trim(rest, " <>:")) {
	case "REPLACE", "UPDATED", "REPLACEMENT", "NEW", "AFTER", "END", "REPLACE BLOCK", "END REPLACE":
		return ok
	case "":
		return ok && strings.TrimRight(s, " ") == ">>>>>>>"
	}
	return false
}

func isDivider(s string) bool {
	s = strings.TrimRight(s, " \t")
	return len(s) >= 5 && len(s) <= 9 && strings.Trim(s, "=") == ""
}

// marker cuts five to nine equal characters from set off the front of s.
func marker(s, set string) (rest string, ok bool) {
	s = strings.TrimRight(s, " \t")
	if s == "" || !strings.Contains(set, s[:1]) {
		return "", false
	}
	n := 0
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return s[n:], n >= 5 && n <= 9
}

// closesLater reports whether lines contain a marker that divides or closes a block.
// Without one, a line that looks like an opening marker is only text.
func closesLater(lines []line) bool {
	divided := false
	for _, l := range lines {
		divided = divided || isDivider(l.text)
		if isReplaceMarker(l.text) || isSearchMarker(l.text) {
			return true
		}
	}
	return divided
}

// parseBlocks reads SEARCH/REPLACE blocks in their common spellings. A line before a
// block may name the file.
func parseBlocks(lines []line) ([]Edit, error) {
	var out []Edit
	name := ""
	total := 0
	for i := 0; i < len(lines); i++ {
		if !isSearchMarker(lines[i].text) {
			continue
		}
		total++
		if n := nameBefore(lines, i); n != "" {
			name = n
		}
		h, next, err := readBlock(lines, i)
		if err != nil {
			return nil, err
		}
		out = append(out, Edit{Path: name, hunks: []hunk{h}})
		i = next
	}
	return out, nil
}

// readBlock reads the block that opens at line i and returns the index of its closing
// line.
func readBlock(lines []line, i int) (hunk, int, error) {
	var dividers []int
	for j := i + 1; j < len(lines); j++ {
		s := lines[j].text
		switch {
		case isDivider(s):
			dividers = append(dividers, j)
		case isReplaceMarker(s) && len(dividers) > 0:
			return buildBlock(lines, i, dividers, j), j, nil
		case isReplaceMarker(s):
			return hunk{}, 0, fmt.Errorf(
				"parse edit: the block at line %d has no ======= between what to search and what to put there",
				i+1,
			)
		case isSearchMarker(s) && s[0] == '<':
			return hunk{}, 0, fmt.Errorf(
				"parse edit: the block at line %d is not closed by >>>>>>> REPLACE before the next one begins at line %d",
				i+1,
				j+1,
			)
		}
	}
	return hunk{}, 0, fmt.Errorf("parse edit: the block at line %d is not closed by >>>>>>> REPLACE; was it cut off?", i+1)
}

func buildBlock(lines []line, open int, dividers []int, shut int) hunk {
	var h hunk
	for n, d := range dividers {
		b := blockHunk(lines[open+1:d], lines[d+1:shut])
		b.source = open + 1
		if n == 0 {
			h = b
		}
		if len(dividers) > 1 {
			h.splits = append(h.splits, b)
		}
	}
	return h
}

// blockHunk makes a hunk from the two halves of a block.
func blockHunk(search, replace []line) hunk {
	h := hunk{block: true}
	search = h.directives(search)
	old, oldCR := unescape(search)
	add, addCR := unescape(replace)
	if first, bare, ok := stripNumbers(old); ok {
		if h.start == 0 {
			h.start = first
		}
		asIs := hunk{block: true, lines: hunkLines(old, add, oldCR && addCR)}
		h.numbered = &asIs
		old, add = bare, withoutNumbers(add)
	} else if len(old) == 0 && h.start > 0 {
		add = unnumbered(add, h.start)
	}
	h.lines = hunkLines(old, add, oldCR && addCR || len(add) == 0 && oldCR)
	return h
}

// withoutNumbers strips the line numbers from new lines if the old ones are numbered.
// Lines that are new may lack a number.
func withoutNumbers(add []string) []string {
	if _, bare, ok := stripNumbers(add); ok {
		return bare
	}
	out := slices.Clone(add)
	for i, s := range add {
		if _, rest, ok := cutNumber(s); ok {
			out[i] = rest
		}
	}
	return out
}

// unnumbered strips the line numbers from new lines if they count up from line from.
func unnumbered(lines []string, from int) []string {
	if first, bare, ok := stripNumbers(lines); ok && first == from {
		return bare
	}
	return lines
}

// directives reads lines such as ":start_line:12" at the top of the search text
// and returns the lines below them.
func (h *hunk) directives(lines []line) []line {
	for n := 0; n < len(lines); n++ {
		s := strings.TrimSpace(lines[n].text)
		key, value, ok := strings.Cut(strings.TrimPrefix(s, ":"), ":")
		switch number, err := strconv.Atoi(strings.TrimSpace(value)); {
		case ok && err == nil && number > 0 && strings.EqualFold(key, "start_line"):
			h.start = number
			continue
		case ok && err == nil && number > 0 && strings.EqualFold(key, "end_line"):
			h.end = number
			continue
		case n > 0 && len(s) >= 5 && strings.Trim(s, "-") == "":
			return lines[n+1:]
		}
		return lines[n:]
	}
	return nil
}

// unescape drops the backslash before a marker that is content.
func unescape(lines []line) (out []string, cr bool) {
	out = make([]string, 0, len(lines))
	cr = len(lines) > 0
	for _, l := range lines {
		cr = cr && l.eol == "\r\n"
		s := l.text
		if rest, ok := strings.CutPrefix(s, `\`); ok && (isDivider(rest) || isSearchMarker(rest) || isReplaceMarker(rest)) {
			s = rest
		}
		out = append(out, s)
	}
	return out, cr
}

// hunkLines turns two texts into the lines of a hunk. Lines in both are context.
func hunkLines(old, add []string, cr bool) []hunkLine {
	var out []hunkLine
	put := func(op byte, lines []string) {
		for _, s := range lines {
			out = append(out, hunkLine{op: op, text: s, cr: cr})
		}
	}
	for _, r := range compareLines(old, add) {
		put(r.op, r.of(old, add))
	}
	return out
}

// nameBefore returns the file path from the lines before a block, or "".
func nameBefore(lines []line, i int) string {
	for back := 1; back <= 3 && i-back >= 0; back++ {
		s := strings.TrimSpace(lines[i-back].text)
		if s == "" || isReplaceMarker(s) {
			if s != "" {
				return ""
			}
			continue
		}
		if rest, ok := strings.CutPrefix(s, "```"); ok {
			if _, p, two := strings.Cut(strings.TrimSpace(rest), " "); two && looksLikePath(p) {
				return p
			}
			continue
		}
		for _, p := range [...]string{"#", "*", "File:", "file:", "Path:", "path:", "//"} {
			s = strings.TrimSpace(strings.TrimPrefix(s, p))
		}
		s = strings.Trim(s, "`*:<> \"'")
		if looksLikePath(s) {
			return s
		}
		return ""
	}
	return ""
}

func looksLikePath(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t<>|?*(){};=") && strings.ContainsAny(s, "./") &&
		!strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "/") && len(s) < 300
}
