// Package phrase writes numbers, lists and shortened texts for sentences that people or
// models read.
package phrase

import (
	"fmt"
	"strings"
)

// Short returns s, cut to at most n characters: the last one is an ellipsis then.
func Short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// FirstLine returns the first line of s without the white space around s.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// Count returns a number with a noun, which gets an s for all numbers but 1.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// List returns a list as "a, b and c".
func List(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}
