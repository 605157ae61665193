package builtin

import (
	"slices"
	"strings"
	"unicode"
)

// minWhole is the minimum number of lines of a file that one line cannot stand for.
const minWhole = 3

// isPart reports whether content, given as a whole file, has only some lines of before: neither its
// first nor its last line, and mostly lines of it.
func isPart(before, content string) bool {
	old, now := textLines(before), textLines(content)
	if len(now) == 0 || len(now) >= len(old) {
		return false
	}
	if len(now) == 1 {
		return len(old) >= minWhole
	}
	kept := 0
	for _, line := range now {
		if slices.Contains(old, line) {
			kept++
		}
	}
	return 2*kept >= len(now) && !slices.Contains(now, old[0]) && !slices.Contains(now, old[len(old)-1])
}

// endsShort reports whether content ends with a new comment, and before goes on for minWhole lines behind
// the line above it.
func endsShort(before, content string) bool {
	old, now := textLines(before), strings.Split(strings.TrimRight(content, " \t\r\n"), "\n")
	last := strings.TrimSpace(now[len(now)-1])
	above := textLines(strings.Join(now[:len(now)-1], "\n"))
	if len(above) == 0 || slices.Contains(old, last) || !strings.HasPrefix(last, "#") && !strings.HasPrefix(last, "//") {
		return false
	}
	for i, line := range slices.Backward(old) {
		if line == above[len(above)-1] {
			return len(old)-i-1 >= minWhole && len(above) < len(old)
		}
	}
	return false
}

// tabsAs returns content with tabs in front of its lines if the lines of before have tabs, and its own have
// spaces alone.
func tabsAs(before, content string) string {
	if !strings.Contains(before, "\n\t") || strings.Contains(before, "\n  ") || strings.Contains("\n"+content, "\n\t") {
		return content
	}
	all, unit := strings.Split(content, "\n"), 0
	for _, line := range all {
		if n := len(indentation(line)); n > 1 && (unit == 0 || n < unit) {
			unit = n
		}
	}
	for i, line := range all {
		if n := len(indentation(line)); n > 0 && unit > 0 {
			all[i] = strings.Repeat("\t", n/unit) + line[n:]
		}
	}
	return strings.Join(all, "\n")
}

// textLines returns the lines of a text that have letters or digits, without the white space around them.
func textLines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// likePlace returns before with content in the place of as many lines, each of which is the same or has half
// of its text in common. It returns false if there is no such place, or no one that is most like content.
func likePlace(before, content string) (string, bool) {
	all, put := strings.Split(before, "\n"), strings.Split(strings.Trim(content, "\r\n"), "\n")
	at, best, several := -1, -1, false
	for i := 0; i+len(put) <= len(all); i++ {
		switch same := likeness(all[i:i+len(put)], put); {
		case same > best:
			at, best, several = i, same, false
		case same >= 0 && same == best:
			several = true
		}
	}
	if at < 0 || several || best == len(put) || best == 0 && len(put) > 1 {
		return "", false
	}
	indent, less := indentation(all[at]), indentation(put[0])
	for i, line := range put {
		if line = strings.TrimRight(line, "\r"); strings.TrimSpace(line) != "" {
			line = indent + strings.TrimPrefix(line, less)
		}
		put[i] = line
	}
	return strings.Join(slices.Replace(all, at, at+len(put), put...), "\n"), true
}

// likeness returns the number of lines that are the same in both, or -1 if another pair has less than half
// of its text in common.
func likeness(old, put []string) (same int) {
	for i, line := range put {
		a, b := strings.TrimSpace(old[i]), strings.TrimSpace(line)
		switch {
		case a == b:
			same++
		case a == "" || b == "" || 2*(common(a, b)) < max(len(a), len(b)):
			return -1
		}
	}
	return same
}

// common returns the length of the common beginning and end of two lines.
func common(a, b string) int {
	short := min(len(a), len(b))
	from, to := 0, 0
	for from < short && a[from] == b[from] {
		from++
	}
	for to < short-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
	}
	return from + to
}

func indentation(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }
