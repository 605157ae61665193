package command

import "strings"

// LabelCode puts label on a line of its own before each fenced block of more than one
// line.
func LabelCode(text, label string) string {
	var out, block strings.Builder
	var f fence
	lines := 0
	flush := func() {
		if lines > 3 { // two of them are the fences
			out.WriteString(label + "\n")
		}
		out.WriteString(block.String())
		block.Reset()
		lines = 0
	}
	for line := range strings.Lines(text) {
		before := f
		if f.inside(line) && f.mark+before.mark != "" {
			block.WriteString(line)
			lines++
			if f.mark == "" {
				flush()
			}
			continue
		}
		flush()
		out.WriteString(line)
	}
	flush()
	return out.String()
}

// fence tracks Markdown's fenced code blocks and HTML comments.
type fence struct {
	mark    string
	comment bool
}

// inside reports whether line belongs to a fenced block or a comment, including the
// fences.
func (f *fence) inside(line string) bool {
	t := strings.TrimLeft(line, " ")
	if f.comment {
		f.comment = !strings.Contains(line, "-->")
		return true
	}
	if f.mark != "" {
		closing := strings.TrimRight(t, " \t\n")
		if len(line)-len(t) <= 3 && len(closing) >= len(f.mark) && strings.Trim(closing, f.mark[:1]) == "" {
			f.mark = ""
		}
		return true
	}
	if strings.HasPrefix(t, "<!--") {
		f.comment = !strings.Contains(t, "-->")
		return true
	}
	for _, c := range []string{"`", "~"} {
		n := len(t) - len(strings.TrimLeft(t, c))
		if n >= 3 && len(line)-len(t) <= 3 && (c == "~" || !strings.Contains(t[n:], "`")) {
			f.mark = strings.Repeat(c, n)
			return true
		}
	}
	return false
}
