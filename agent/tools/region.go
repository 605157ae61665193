package tools

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Limits of the text shown again after a failed edit: lines on both sides, and bytes
// in total.
const (
	regionAround = 12
	maxRegion    = 6000
)

// Region returns the part of a numbered file ("12 | text") that an edit with these
// arguments refers to, or else its beginning.
func Region(numbered string, arguments json.RawMessage) string {
	lines := strings.Split(numbered, "\n")
	from, to := region(lines, wantedLines(arguments))
	shown := strings.Join(lines[from:to], "\n")
	if len(shown) > maxRegion {
		shown = strings.ToValidUTF8(shown[:maxRegion], "") + "\n[cut]"
	}
	return shown
}

// wantedLines returns the lines of text in a call's arguments, with and without diff
// marks, and its line numbers.
func wantedLines(raw json.RawMessage) map[string]bool {
	var args map[string]any
	if json.Unmarshal(raw, &args) != nil {
		return nil
	}
	out := map[string]bool{}
	for key, v := range args {
		switch v := v.(type) {
		case string:
			if key == "path" || key == "file_path" {
				continue
			}
			for line := range strings.Lines(v) {
				line = strings.TrimSpace(line)
				out[line] = true
				out[strings.TrimSpace(strings.TrimLeft(line, "+-"))] = true
			}
		case float64:
			out[lineMark(int(v))] = true
		}
	}
	return out
}

// lineMark encodes a line number as a wanted line.
func lineMark(n int) string { return "\x00" + strconv.Itoa(n) }

// region finds the span of numbered lines ("12 | text") with the most wanted lines.
// If there is none, it is the beginning.
func region(lines []string, wanted map[string]bool) (from, to int) {
	hits := make([]int, len(lines)+1) // number of hits before each line
	for i, l := range lines {
		hits[i+1] = hits[i]
		number, text, ok := strings.Cut(l, " | ")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(number))
		text = strings.TrimSpace(text)
		if err == nil && (len(text) > 2 && wanted[text] || wanted[lineMark(n)]) {
			hits[i+1]++
		}
	}
	const size = 2*regionAround + 1
	best := -1
	for i := range lines {
		lo, hi := max(0, i-regionAround), min(len(lines), i+regionAround+1)
		if n := hits[hi] - hits[lo]; n > best {
			best, from, to = n, lo, hi
		}
	}
	if best <= 0 {
		return 0, min(len(lines), 4*size)
	}
	// The first of several windows with equal hits was taken: center it.
	first, last := from, to-1
	for first < last && hits[first+1] == hits[from] {
		first++
	}
	for last > first && hits[last] == hits[to] {
		last--
	}
	return max(0, first-regionAround), min(len(lines), last+regionAround+1)
}
