package prose

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Marks of SEARCH/REPLACE blocks as models write them: fewer or more signs, other words.
var (
	beginMark  = pattern.Lazy(`^\s*<{4,12}(?: ?[A-Za-z]\w*)?(?: \S+)?\s*$`)
	middleMark = pattern.Lazy(`^\s*={4,12}\s*$`)
	endMark    = pattern.Lazy(`^\s*>{4,12}(?: ?[A-Za-z]\w*)?(?: \S+)?\s*$`)
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
		isFence := func(line string) bool { _, _, _, ok := openFence(line); return ok }
		if from < 0 || to < 0 || slices.ContainsFunc(r.lines[:from], isFence) {
			continue
		}
		body := strings.Join(r.lines[from:to+1], "\n") + "\n"
		if strings.TrimSpace(body) == text {
			return // shown, not changed
		}
		if strings.Count(text, "\n") < tinyLines || min(sharedLines(text, body), sharedLines(body, text)) < minSeveral {
			continue
		}
		r.acts, r.doubts = []Act{{Kind: Whole, Path: f.Path, Text: body}}, nil
		r.words = slices.Concat(r.lines[:from], r.lines[to+1:])
		return
	}
}

// quotes returns the path of a file in view and the lines that a block quotes, as the file has them, if
// they are some lines of that file alone, at one place of it. The file may be known by its name.
func (v View) quotes(body []string, name string) *File {
	var found *File
	for _, f := range v {
		if name != "" && f.Path != name {
			continue
		}
		all := strings.Split(strings.TrimSuffix(f.Text, "\n"), "\n")
		for i := 0; i+len(body) <= len(all) && len(body) < len(all); i++ {
			if !slices.EqualFunc(body, all[i:i+len(body)], sameLine) {
				continue
			}
			if found != nil {
				return nil
			}
			found = &File{Path: f.Path, Text: strings.Join(all[i:i+len(body)], "\n") + "\n"}
		}
	}
	return found
}

// sameLine reports whether two lines differ at most in the white space around them.
func sameLine(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// replaces reads "replace these lines by those": the block before quotes lines of a file, and this one
// has half of their text. The quotation itself is no edit. The new lines are indented as the old ones.
func (r *reader) replaces(old File, body []string) bool {
	quoted, put := strings.Split(strings.TrimSuffix(old.Text, "\n"), "\n"), slices.Clone(body)
	if slices.EqualFunc(quoted, body, sameLine) || !alike(strings.TrimSpace(old.Text), strings.TrimSpace(strings.Join(body, "\n"))) {
		return false
	}
	if n := len(r.acts); n > 0 && r.acts[n-1].Kind == Whole && r.acts[n-1].Path == old.Path &&
		slices.EqualFunc(strings.Split(strings.TrimSuffix(r.acts[n-1].Text, "\n"), "\n"), quoted, sameLine) {
		r.acts = r.acts[:n-1]
	}
	r.quoted = nil
	indent, less := indentation(quoted[0]), indentation(body[0])
	for i, line := range put {
		if strings.TrimSpace(line) != "" {
			put[i] = indent + strings.TrimPrefix(line, less)
		}
	}
	text := strings.Join(put, "\n") + "\n"
	r.edit(Act{Kind: Blocks, Path: old.Path, Text: searchMark + "\n" + old.Text + "=======\n" + text + replaceMark + "\n"})
	return true
}
