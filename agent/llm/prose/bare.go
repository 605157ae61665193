package prose

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Marks of SEARCH/REPLACE blocks as models write them: fewer or more signs, other words.
var (
	beginMark  = pattern.Lazy(`^\s*<{4,12}(?: ?[A-Za-z]\w*)?\s*$`)
	middleMark = pattern.Lazy(`^\s*={4,12}\s*$`)
	endMark    = pattern.Lazy(`^\s*>{4,12}(?: ?[A-Za-z]\w*)?\s*$`)
)

// plainMarks replaces the marks of complete blocks by those that the rest of the program knows. Text
// with only some of them stays as it is.
func plainMarks(lines []string) {
	for begin := 0; begin < len(lines); begin++ {
		if !beginMark().MatchString(lines[begin]) {
			continue
		}
		middle, end := -1, -1
		for i := begin + 1; i < len(lines) && end < 0 && !beginMark().MatchString(lines[i]); i++ {
			switch {
			case middle < 0 && middleMark().MatchString(lines[i]):
				middle = i
			case middle >= 0 && endMark().MatchString(lines[i]):
				end = i
			}
		}
		if end > 0 {
			lines[begin], lines[middle], lines[end] = searchMark, "=======", replaceMark
			begin = end
		}
	}
}

// bareDiff reads a unified diff outside of fences at the current line.
func (r *reader) bareDiff() bool {
	rest := r.lines[r.at:]
	if len(rest) < 4 || !strings.HasPrefix(rest[0], "--- ") || !strings.HasPrefix(rest[1], "+++ ") || !strings.HasPrefix(rest[2], "@@") {
		return false
	}
	end := 3
	for end < len(rest) && rest[end] != "" && strings.ContainsRune(" +-@\\", rune(rest[end][0])) {
		end++
	}
	r.edit(Act{Kind: Blocks, Path: first(diffPath(rest[:2]), r.only("")), Text: strings.Join(rest[:end], "\n") + "\n"})
	r.at += end
	return true
}

// unfenced reads an answer that is a file in view without a fence. The file reaches from its first
// line to its last one, and has half of its lines; prose around it is not taken.
func (r *reader) unfenced() {
	for _, f := range r.view {
		from, to := -1, -1
		text := strings.TrimSpace(f.Text)
		head, tail := strings.TrimSpace(firstLine(text)), strings.TrimSpace(lastLine(text))
		for i, line := range r.lines {
			switch {
			case strings.TrimSpace(line) == head && from < 0:
				from = i
			case strings.TrimSpace(line) == tail && from >= 0:
				to = i
			}
		}
		if from < 0 || to < 0 {
			continue
		}
		body := strings.Join(r.lines[from:to+1], "\n") + "\n"
		if strings.TrimSpace(body) == text {
			return // shown, not changed
		}
		if strings.Count(text, "\n") < tinyLines || min(sharedLines(text, body), sharedLines(body, text)) < minSeveral {
			continue
		}
		r.acts = []Act{{Kind: Whole, Path: f.Path, Text: body}}
		r.words = slices.Concat(r.lines[:from], r.lines[to+1:])
		return
	}
}

// quotes returns the path of a file in view and the lines of a block, if they are some lines of that
// file alone, at one place of it. The file may be known by its name.
func (v View) quotes(body []string, name string) *File {
	lines := "\n" + strings.Join(body, "\n") + "\n"
	var found *File
	for _, f := range v {
		switch n := strings.Count("\n"+f.Text+"\n", lines); {
		case n == 0 || name != "" && f.Path != name || len(lines) >= len(f.Text):
		case n > 1 || found != nil:
			return nil
		default:
			found = &File{f.Path, lines[1:]}
		}
	}
	return found
}

// replaces reads "replace these lines by those": the block before quotes lines of a file, and this one
// has half of their text. The quotation itself is no edit.
func (r *reader) replaces(old File, text string) bool {
	if text == old.Text || !alike(strings.TrimSpace(old.Text), strings.TrimSpace(text)) {
		return false
	}
	if n := len(r.acts); n > 0 && r.acts[n-1] == (Act{Kind: Whole, Path: old.Path, Text: old.Text}) {
		r.acts = r.acts[:n-1]
	}
	r.quoted = nil
	r.edit(Act{Kind: Blocks, Path: old.Path, Text: searchMark + "\n" + old.Text + "=======\n" + text + replaceMark + "\n"})
	return true
}
