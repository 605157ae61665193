package patch

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Replace returns before with old replaced by add. old must occur once; with all set,
// all occurrences are replaced. If there is no exact occurrence, text is compared
// line by line, as in a SEARCH block. n is the number of replacements.
func Replace(before, old, add string, all bool) (out Applied, n int, err error) {
	if old == "" {
		if before != "" {
			return Applied{}, 0, errors.New(
				"apply edit: the text to replace is empty, but the file is not; give the text that is to be changed")
		}
		return Applied{Text: add}, 1, nil
	}
	if old == add {
		return Applied{}, 0, errors.New("apply edit: the text to replace and what to put there are the same")
	}
	for _, v := range spellings(before, old, add) {
		n = strings.Count(before, v[0])
		switch {
		case n == 1 && !all && cutsWord(before, v[0]):
			return Applied{}, 0, partOfWord(before, v[0])
		case n == 1 || n > 1 && all:
			return replaceAll(before, v, n), n, nil
		case n > 1:
			return Applied{}, n, manyTimes(before, v[0], n)
		}
	}
	h := blockHunk(splitText(old), splitText(add))
	if blank(h.old()) {
		return Applied{}, 0, errors.New(
			"apply edit: the text to replace is blank and not in the file like that; give the text that is to be changed")
	}
	a, err := Edit{hunks: []hunk{h}}.Apply(before)
	return a, 1, err
}

// spellings returns the forms in which a text and its replacement can be in a file:
// with their own line endings, and with each of the others.
func spellings(before, old, add string) [][2]string {
	lines := splitText(before)
	crlf, lf := [2]string{withEOL(old, "\r\n"), withEOL(add, "\r\n")}, [2]string{withEOL(old, "\n"), withEOL(add, "\n")}
	switch {
	case uniform(lines, "\r\n"): // a lone line feed would match within CRLF
		return [][2]string{crlf}
	case uniform(lines, "\n"):
		return [][2]string{lf}
	}
	return [][2]string{{old, add}, crlf, lf}
}

// replaceAll replaces all n occurrences of v[0] with v[1]. If v[0] ends with a line
// ending and v[1] does not, one is added: the following text would join the line
// otherwise.
func replaceAll(before string, v [2]string, n int) (out Applied) {
	old, add := v[0], v[1]
	if eol := withEOL("\n", commonEOL(splitText(before))); add != "" && strings.HasSuffix(old, "\n") &&
		!strings.HasSuffix(add, "\n") &&
		!strings.HasSuffix(before, old) {
		add += eol
		out.Notes = append(out.Notes,
			"The text to replace ends with the end of a line and the new text did not; one was added.")
	}
	within, head, rest := 0, "", before
	for range n {
		head, rest, _ = strings.Cut(rest, old)
		if n > 1 && (joins(head, old) || joins(old, rest)) {
			within++
		}
	}
	if within > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of the %d places are a part of a longer word or number.", within, n))
	}
	out.Text = strings.ReplaceAll(before, old, add)
	return out
}

// cutsWord reports whether the only occurrence of a text begins or ends within a word
// or a number, such as "timeout = 1" in "timeout = 10".
func cutsWord(before, old string) bool {
	head, tail, _ := strings.Cut(before, old)
	return joins(head, old) || joins(old, tail)
}

// joins reports whether a word extends from the end of a to the beginning of b. Only
// Latin letters count: other scripts may have no space between words.
func joins(a, b string) bool {
	const latin = 0x250
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	word := func(r rune) bool { return r == '_' || r < latin && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return a != "" && b != "" && word(last) && word(first)
}

func partOfWord(before, old string) error {
	d, at := newDocument(before), strings.Count(before[:strings.Index(before, old)], "\n")
	return fmt.Errorf(
		"apply edit: the text to replace is in the file only as a part of a longer word or number. The file has there\n%s",
		d.region(at, strings.Count(old, "\n")+1))
}

func withEOL(s, eol string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", eol)
}

func manyTimes(before, old string, n int) error {
	var starts []int
	pieces, at := strings.Split(before, old), 0
	for i, piece := range pieces[:len(pieces)-1] {
		at += strings.Count(piece, "\n")
		if i == 0 || starts[len(starts)-1] != at {
			starts = append(starts, at) // list a line once, even with several occurrences
		}
		at += strings.Count(old, "\n")
	}
	d := newDocument(before)
	return fmt.Errorf(
		"apply edit: the text to replace is there %d times:\n%sAdd lines before or after it so that it is there once, or replace all of them (replace_all)",
		n,
		d.list(starts, strings.Count(strings.TrimSuffix(old, "\n"), "\n")+1),
	)
}

// Insert puts text before line n of before, or after the last line if n is 0 or one
// more than the number of lines.
func Insert(before string, n int, text string) (string, error) {
	d := newDocument(before)
	at := n - 1
	switch {
	case n == 0:
		at = len(d.lines)
	case n < 0 || n > len(d.lines)+1:
		return "", fmt.Errorf("insert at line %d: the file has %d lines; lines 1 to %d are possible, and 0 for the end",
			n, len(d.lines), len(d.lines)+1)
	}
	add := splitText(text)
	for i, bare := range unnumbered(texts(add), at+1) {
		if add[i].text = bare; len(d.lines) > 0 {
			add[i].eol = d.eol
		}
	}
	if n := len(add); n > 1 &&
		(d.repeats(add[0].text, at-1) || d.repeats(add[0].text, at) || d.repeats(add[n-1].text, at)) {
		return "", fmt.Errorf(
			"insert at line %d: a line beside that place would be there twice; send only the new lines. The file has there\n%s",
			at+1,
			d.region(at, 1),
		)
	}
	d.splice(at, at, add, len(d.lines) == 0)
	return d.String(), nil
}

// Block returns the edit of a SEARCH/REPLACE block. line is the presumed first line
// of search, 0 if unknown.
func Block(search, replace string, line int) Edit {
	h := blockHunk(splitText(search), splitText(replace))
	if line > 0 {
		h.start = line
	}
	return Edit{hunks: []hunk{h}}
}

// Lines returns the edit that replaces lines from to to, both included, with text.
func Lines(from, to int, text string) Edit {
	h := hunk{block: true, start: from, end: to}
	add := unescape(splitText(text))
	for _, s := range unnumbered(add, from) {
		h.lines = append(h.lines, hunkLine{op: '+', text: s, eol: "\n"})
	}
	return Edit{hunks: []hunk{h}}
}
