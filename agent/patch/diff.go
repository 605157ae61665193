package patch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch/compare"
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
	for _, h := range group(compare.Lines(old, add)) {
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
	compare.Run
	a, b int
}

// group cuts runs into hunks with context.
func group(runs []compare.Run) [][]span2 {
	var out [][]span2
	var cur []span2
	a, b := 0, 0
	for i, r := range runs {
		n := r.To - r.From
		s := span2{r, a, b}
		if r.Op != '+' {
			a += n
		}
		if r.Op != '-' {
			b += n
		}
		if r.Op != ' ' {
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
	s.To = min(s.To, s.From+n)
	return s
}

func (s span2) last(n int) span2 {
	skip := max(0, s.To-s.From-n)
	s.From, s.a, s.b = s.From+skip, s.a+skip, s.b+skip
	return s
}

func writeHunk(b *strings.Builder, h []span2, old, add []string) {
	na, nb := 0, 0
	for _, s := range h {
		n := s.To - s.From
		if s.Op != '+' {
			na += n
		}
		if s.Op != '-' {
			nb += n
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", hunkRange(h[0].a, na), hunkRange(h[0].b, nb))
	for _, s := range h {
		for _, l := range s.Of(old, add) {
			b.WriteByte(s.Op)
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
	for _, r := range compare.Lines(wholeLines(before), wholeLines(after)) {
		switch r.Op {
		case '+':
			added += r.To - r.From
		case '-':
			removed += r.To - r.From
		}
	}
	return added, removed
}
