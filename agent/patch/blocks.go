package patch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Markers that open and close a SEARCH/REPLACE block, in the spellings of models.
var (
	opening = pattern.Lazy(`(?i)^(?:(?:<{5,9}|-{5,9})[ <>:]*(?:SEARCH(?: BLOCK)?|ORIGINAL|FIND|OLD|BEFORE)[ <>:]*|` +
		`<{5,9}[ <>:]*HEAD[ <>:]*|<{7})[ \t]*$`)
	closing = pattern.Lazy(`(?i)^(?:(?:>{5,9}|\+{5,9})[ <>:]*` +
		`(?:REPLACE(?: BLOCK)?|UPDATED|REPLACEMENT|NEW|AFTER|END(?: REPLACE)?)[ <>:]*|>{7})[ \t]*$`)
)

func isSearchMarker(s string) bool { return opening().MatchString(s) }

func isReplaceMarker(s string) bool { return closing().MatchString(s) }

func isDivider(s string) bool {
	s = strings.TrimRight(s, " \t")
	return len(s) >= 5 && len(s) <= 9 && strings.Trim(s, "=") == ""
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
	for i := 0; i < len(lines); i++ {
		if !isSearchMarker(lines[i].text) {
			continue
		}
		name = cmp.Or(nameBefore(lines, i), name)
		h, shut, err := readBlock(lines, i)
		if err != nil {
			return nil, fmt.Errorf("parse edit: the block at line %d %w", i+1, err)
		}
		out = append(out, Edit{Path: name, hunks: []hunk{h}})
		i = shut
	}
	return out, nil
}

// readBlock reads the block that opens at a line and returns the index of its closing
// line. A text may have lines like the divider: then the block has several readings.
func readBlock(lines []line, open int) (h hunk, shut int, err error) {
	var dividers []int
	for shut = open + 1; shut < len(lines) && !isReplaceMarker(lines[shut].text); shut++ {
		s := lines[shut].text
		if isDivider(s) {
			dividers = append(dividers, shut)
		} else if isSearchMarker(s) && s[0] == '<' {
			return h, 0, fmt.Errorf("is not closed by >>>>>>> REPLACE before the next one begins at line %d", shut+1)
		}
	}
	switch {
	case shut == len(lines):
		return h, 0, errors.New("is not closed by >>>>>>> REPLACE; was it cut off?")
	case len(dividers) == 0:
		return h, 0, errors.New("has no ======= between the text to search and the text to put there")
	}
	var readings []hunk
	for _, d := range dividers {
		readings = append(readings, blockHunk(lines[open+1:d], lines[d+1:shut]))
	}
	if h = readings[0]; len(readings) > 1 {
		h.splits = readings
	}
	return h, shut, nil
}

// blockHunk makes a hunk from the two halves of a block.
func blockHunk(search, replace []line) hunk {
	h := hunk{block: true}
	search = h.directives(search)
	old, add := unescape(search), unescape(replace)
	if first, bare := stripNumbers(old); first > 0 {
		if h.start == 0 {
			h.start = first
		}
		old, add = bare, withoutNumbers(add)
	} else if len(old) == 0 && h.start > 0 {
		add = unnumbered(add, h.start)
	}
	h.lines = hunkLines(old, add)
	return h
}

// withoutNumbers strips the line numbers from new lines. Lines that are new may lack one.
func withoutNumbers(add []string) []string {
	out := slices.Clone(add)
	for i, s := range add {
		if _, sign, rest := cutNumber(s); sign == "|" {
			out[i] = strings.TrimPrefix(rest, " ")
		}
	}
	return out
}

// unnumbered strips the line numbers from new lines if they count up from line from.
func unnumbered(lines []string, from int) []string {
	if first, bare := stripNumbers(lines); first == from {
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
func unescape(lines []line) []string {
	out := texts(lines)
	for i, s := range out {
		if rest, ok := strings.CutPrefix(s, `\`); ok && (isDivider(rest) || isSearchMarker(rest) || isReplaceMarker(rest)) {
			out[i] = rest
		}
	}
	return out
}

// hunkLines turns two texts into the lines of a hunk. Lines in both are context.
func hunkLines(old, add []string) (out []hunkLine) {
	put := func(op byte, texts []string) {
		for _, s := range texts {
			out = append(out, hunkLine{op: op, text: s, eol: "\n"})
		}
	}
	at := 0
	for _, s := range lines.Compare(old, add) {
		put(' ', old[at:s.A])
		put('-', old[s.A:s.AEnd])
		put('+', add[s.B:s.BEnd])
		at = s.AEnd
	}
	put(' ', old[at:])
	return out
}

// label matches the marks and words before the name of a file.
var label = pattern.Lazy(`^(?:[#*\s]|//|[Ff]ile:|[Pp]ath:)+`)

// nameBefore returns the file path from the lines before a block, or "".
func nameBefore(lines []line, i int) string {
	for back := 1; back <= min(3, i); back++ {
		s := strings.TrimSpace(lines[i-back].text)
		info, fence := strings.CutPrefix(s, "```")
		_, name, _ := strings.Cut(strings.TrimSpace(info), " ")
		switch {
		case isReplaceMarker(s):
			return ""
		case !fence && s != "":
			name = strings.Trim(label().ReplaceAllString(s, ""), "`*:<> \"'")
			if !looksLikePath(name) {
				return ""
			}
			return name
		case looksLikePath(name):
			return name
		}
	}
	return ""
}

func looksLikePath(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t<>|?*(){};=") && strings.ContainsAny(s, "./") &&
		!strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "/") && len(s) < 300
}
