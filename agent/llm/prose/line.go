package prose

import (
	"slices"
	"strings"
)

// Line is a line of a file that a model was asked to correct, without the rest of the file. Lines
// occur in this order once in the file; the one at index At is the wrong one.
type Line struct {
	Path  string
	Lines []string
	At    int
}

// maxLine is the maximum number of lines that take the place of one.
const maxLine = 5

// Corrected reads an answer that gives a corrected line alone, in a fence. It returns false for any
// other answer, such as one with a file or a function. A copy of the wrong line, or a line of
// another file in view, makes no edit.
func Corrected(text string, l Line, view View) (Answer, bool) {
	r := reader{view: view, lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	body, named, ok := r.onlyBlock()
	if !ok || named != "" && (r.resolvePath(named) != l.Path || len(body) > 1) {
		return Answer{}, false
	}
	old, said := l.Lines[l.At], strings.TrimSpace(body[0])
	body = l.fit(body)
	put := strings.Join(body, "\n")
	if len(body) > maxLine || len(body) > 1 && (depth(put) != depth(old) || Parse("```\n"+put+"\n```", view).Edits()) {
		return Answer{}, false
	}
	foreign := slices.ContainsFunc(view, func(f File) bool {
		return f.Path != l.Path && hasLine(f.Text, said)
	})
	if put == old || foreign && !alike(strings.TrimSpace(old), said) ||
		slices.ContainsFunc(slices.Concat(body, l.Lines), isMark) {
		return Answer{Text: text}, true
	}
	lines := slices.Concat([]string{searchMark}, l.Lines, []string{"======="})
	lines = slices.Concat(lines, l.Lines[:l.At], body, l.Lines[l.At+1:], []string{replaceMark, ""})
	return Answer{Acts: []Act{{Kind: Blocks, Path: l.Path, Text: strings.Join(lines, "\n")}}}, true
}

// Only drops the edits of other files than the one at a path.
func (a Answer) Only(path string) Answer {
	a.Acts = slices.DeleteFunc(slices.Clone(a.Acts), func(x Act) bool {
		if !x.edits() || x.Path == path {
			return false
		}
		a.Doubts = append(a.Doubts, "an edit of "+x.Path+" was not taken, since a line of "+path+" was asked for")
		return true
	})
	return a
}

// isMark reports whether a line would be a mark of a SEARCH/REPLACE block.
func isMark(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "<<<<<<<") || strings.HasPrefix(line, ">>>>>>>") || strings.HasPrefix(line, "=======")
}

// onlyBlock returns the lines of the only fence of an answer, without empty ones at its ends, and
// the path that names its file, or "". It returns false if there is no such fence, or another one.
func (r *reader) onlyBlock() (body []string, named string, ok bool) {
	for r.at = 0; r.at < len(r.lines); r.at++ {
		marks, info, _, opens := openFence(r.lines[r.at])
		if !opens {
			continue
		}
		if ok {
			return nil, "", false
		}
		ok, named = true, infoPath(info)
		for _, line := range r.above() {
			named = first(named, pathLike(line))
		}
		for r.at++; r.at < len(r.lines) && !closesFence(r.lines[r.at], marks); r.at++ {
			body = append(body, r.lines[r.at])
		}
	}
	if len(body) > 1 {
		if p := inComment(body[0]); p != "" {
			named, body = first(named, p), body[1:]
		}
	}
	return trimBlank(body), named, ok && len(trimBlank(body)) > 0
}

func trimBlank(body []string) []string {
	for len(body) > 0 && strings.TrimSpace(body[0]) == "" {
		body = body[1:]
	}
	for len(body) > 0 && strings.TrimSpace(body[len(body)-1]) == "" {
		body = body[:len(body)-1]
	}
	return body
}

// fit brings an answer into the place of the wrong line: without its neighbors, with its
// indentation, and with its brackets at the ends if the answer lacks them.
func (l Line) fit(body []string) []string {
	same := func(at int, line string) bool {
		return at >= 0 && at < len(l.Lines) && strings.TrimSpace(l.Lines[at]) == strings.TrimSpace(line)
	}
	body = slices.Clone(body)
	for len(body) > 1 && same(l.At-1, body[0]) {
		body = body[1:]
	}
	for len(body) > 1 && same(l.At+1, body[len(body)-1]) {
		body = body[:len(body)-1]
	}
	old := l.Lines[l.At]
	indent, less := indentation(old), indentation(body[0])
	for i, line := range body {
		line = strings.TrimRight(line, " \t")
		if i == 0 {
			line = strings.TrimSpace(line)
		}
		if line = strings.TrimPrefix(line, less); line != "" {
			body[i] = indent + line
		} else {
			body[i] = ""
		}
	}
	if len(body) == 1 {
		body[0] = indent + withEnds(strings.TrimSpace(old), strings.TrimSpace(body[0]))
	}
	return body
}

// withEnds returns a line with the brackets at the ends of the old one that it lacks.
func withEnds(old, line string) string {
	word, _, _ := strings.Cut(line, " ")
	if strings.HasPrefix(old, "} ") && slices.Contains([]string{"else", "catch", "finally"}, strings.Trim(word, "{:")) {
		line = "} " + line
	}
	switch {
	case strings.HasSuffix(old, "{") && !strings.Contains(line, "{"):
		line += " {"
	case strings.HasSuffix(old, ":") && !strings.HasSuffix(line, ":") && strings.HasPrefix(old, word):
		line += ":"
	}
	return line
}

// depth returns the number of braces that a text opens and does not close.
func depth(s string) int { return strings.Count(s, "{") - strings.Count(s, "}") }

func indentation(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }
