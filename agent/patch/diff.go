package patch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/gitops/lines"
)

// UnifiedFile returns the diff between two versions of a file in git's format, or ""
// if they are equal. from and to are the file's names, "" if it does not exist.
func UnifiedFile(from, to, before, after string) string {
	if before == after && from == to {
		return ""
	}
	old, add := wholeLines(before), wholeLines(after)
	var spans []lines.Span
	a, b := 0, 0 // lines so far
	for _, r := range compareLines(old, add) {
		n := r.to - r.from
		if k := len(spans) - 1; r.op != ' ' && (k < 0 || spans[k].AEnd != a || spans[k].BEnd != b) {
			spans = append(spans, lines.Span{A: a, B: b})
		}
		if r.op != '+' {
			a += n
		}
		if r.op != '-' {
			b += n
		}
		if r.op != ' ' {
			spans[len(spans)-1].AEnd, spans[len(spans)-1].BEnd = a, b
		}
	}
	const around = 3 // unchanged lines on each side of a change
	head := fmt.Sprintf("--- %s\n+++ %s\n", headerName("a/", from), headerName("b/", to))
	return head + lines.Hunks(old, add, spans, around)
}

func headerName(prefix, path string) string {
	if path == "" {
		return devNull
	}
	name := prefix + path
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// wholeLines cuts a text into lines with their endings.
func wholeLines(s string) []string { return slices.Collect(strings.Lines(s)) }

// Count returns the number of lines that a change adds and removes.
func Count(before, after string) (added, removed int) {
	for _, r := range compareLines(wholeLines(before), wholeLines(after)) {
		switch r.op {
		case '+':
			added += r.to - r.from
		case '-':
			removed += r.to - r.from
		}
	}
	return added, removed
}
