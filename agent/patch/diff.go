package patch

import (
	"fmt"
	"slices"
	"strings"
)

// around is how many unchanged lines a diff shows on each side of a change.
const around = 3

// UnifiedFile returns the difference between two versions of a file as git
// shows it, "" when there is none. from and to are its names, "" where it does
// not exist.
func UnifiedFile(from, to, before, after string) string {
	if before == after && from == to {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", headerName("a/", from), headerName("b/", to))
	old, add := wholeLines(before), wholeLines(after)
	for _, h := range group(compareLines(old, add)) {
		writeHunk(&b, h, old, add)
	}
	return b.String()
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

// span2 is a run with the indexes at which it begins in both texts.
type span2 struct {
	run
	a, b int
}

// group cuts runs into hunks with context.
func group(runs []run) [][]span2 {
	var out [][]span2
	var cur []span2
	a, b := 0, 0
	for i, r := range runs {
		n := r.to - r.from
		s := span2{r, a, b}
		if r.op != '+' {
			a += n
		}
		if r.op != '-' {
			b += n
		}
		if r.op != ' ' {
			cur = append(cur, s)
			continue
		}
		if cur != nil && (n <= 2*around && i < len(runs)-1) {
			cur = append(cur, s)
			continue
		}
		if cur != nil {
			out = append(out, append(cur, s.first(around)))
			cur = nil
		}
		if i < len(runs)-1 {
			cur = []span2{s.last(around)}
		}
	}
	if cur != nil {
		out = append(out, cur)
	}
	return out
}

func (s span2) first(n int) span2 {
	s.to = min(s.to, s.from+n)
	return s
}

func (s span2) last(n int) span2 {
	skip := max(0, s.to-s.from-n)
	s.from, s.a, s.b = s.from+skip, s.a+skip, s.b+skip
	return s
}

func writeHunk(b *strings.Builder, h []span2, old, add []string) {
	na, nb := 0, 0
	for _, s := range h {
		n := s.to - s.from
		if s.op != '+' {
			na += n
		}
		if s.op != '-' {
			nb += n
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", hunkRange(h[0].a, na), hunkRange(h[0].b, nb))
	for _, s := range h {
		for _, l := range s.of(old, add) {
			b.WriteByte(s.op)
			b.WriteString(l)
			if !strings.HasSuffix(l, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
}

// hunkRange returns one half of a hunk header, such as "3,7".
func hunkRange(at, n int) string {
	if n != 0 {
		at++
	}
	if n == 1 {
		return fmt.Sprint(at)
	}
	return fmt.Sprintf("%d,%d", at, n)
}

// Count returns how many lines a change adds and removes.
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
