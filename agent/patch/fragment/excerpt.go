package fragment

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

// Excerpt returns the functions of a file that have the most words, which are in lower case, in the order
// of the file, at most size bytes of them. A function of more bytes counts by those in it. The text is ""
// if no function has any of the words. most reports whether half of the file is in such functions.
func Excerpt(name, text string, words []string, size int) (found string, most bool) {
	all := strings.Split(text, "\n")
	kinds := map[int]bool{}
	defs, _, _ := outline.Of(name, []byte(text))
	for _, d := range defs {
		kinds[d.Line-1] = d.IsType()
	}
	type part struct {
		definition
		text  string
		score float64
	}
	var parts []part
	for _, d := range definitions(name, text) {
		body := strings.Join(all[d.from:d.to], "\n")
		within := len(parts) > 0 && d.from < parts[len(parts)-1].to
		if !kinds[d.line] && !within && len(body) <= size {
			parts = append(parts, part{definition: d, text: body})
		}
	}
	within := 0
	for _, p := range parts {
		within += len(p.text)
	}
	for _, w := range words {
		var have []int
		for i, p := range parts {
			if strings.Contains(strings.ToLower(p.text), w) {
				have = append(have, i)
			}
		}
		for _, i := range have {
			parts[i].score += 1 / float64(len(have))
			if strings.Contains(strings.ToLower(lastName(parts[i].name)), w) {
				parts[i].score++
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var chosen []part
	for _, p := range parts {
		if p.score > 0 && len(p.text) <= size {
			chosen, size = append(chosen, p), size-len(p.text)
		}
	}
	slices.SortFunc(chosen, func(a, b part) int { return a.from - b.from })
	texts := make([]string, 0, len(chosen))
	for _, p := range chosen {
		texts = append(texts, strings.Trim(p.text, "\n"))
	}
	return strings.Join(texts, "\n\n"), 2*within >= len(text)
}
