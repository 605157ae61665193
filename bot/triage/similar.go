package triage

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
)

const (
	minShared  = 0.3   // least part of the weight of an issue's title that a similar one shares
	maxText    = 2_000 // bytes of a text that are compared
	titleCount = 3     // a word of a title counts as much as so many of a text
)

// similar returns the issues whose words are most like those of an issue, best first, at
// most [maxSame]. A word counts the more the fewer issues have it.
func similar(is ghapp.Issue, others []reads.Issue) []reads.Issue {
	bags, in := make([]map[string]float64, len(others)), map[string]int{}
	for i, o := range others {
		bags[i] = bag(o.Title, o.Body)
		for word := range bags[i] {
			in[word]++
		}
	}
	weight := func(word string) float64 { return math.Log(float64(len(others)+2) / float64(in[word]+1)) }
	mine, all := bag(is.Title, is.Body), 0.0
	for word, count := range bag(is.Title, "") {
		all += count * weight(word)
	}
	type scored struct {
		of    reads.Issue
		score float64
	}
	var list []scored
	for i, o := range others {
		score := 0.0
		for word, count := range bags[i] {
			score += min(count, mine[word]) * weight(word)
		}
		if o.Number != is.Ref.Number && all > 0 && score >= minShared*all {
			list = append(list, scored{o, score})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []reads.Issue
	for _, s := range list[:min(maxSame, len(list))] {
		out = append(out, s.of)
	}
	return out
}

// bag returns the words of a title and a text with their counts, by their first letters, so
// that "crash" and "crashes" are the same.
func bag(title, text string) map[string]float64 {
	const stem, shortest = 6, 3
	out := map[string]float64{}
	add := func(s string, count float64) {
		for word := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
		}) {
			r := []rune(word)
			if len(r) < shortest {
				continue
			}
			word = string(r[:min(len(r), stem)])
			out[word] = max(out[word], count)
		}
	}
	add(text[:min(len(text), maxText)], 1)
	add(title, titleCount)
	return out
}
