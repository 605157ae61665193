package triage

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
)

const (
	minShared  = 0.3   // least part of the weight of an issue's title that a similar one shares
	maxText    = 2_000 // bytes of a text that are compared
	titleCount = 3     // a word of a title counts as much as so many of a text
)

// similar returns the issues whose words are most like those of an issue, best first, at
// most [maxSame]. A word counts the more the fewer of the newest issues have it; found are
// those of a search among all.
func similar(is ghapp.Issue, newest, found []reads.Issue) []reads.Issue {
	weight := weigh(newest)
	others := slices.Clone(newest)
	for _, f := range found {
		if !slices.ContainsFunc(others, func(o reads.Issue) bool { return o.Number == f.Number }) {
			others = append(others, f)
		}
	}
	mine, all := bag(is.Title, is.Body), 0.0
	for word, count := range bag(is.Title, "") {
		all += count * weight(word)
	}
	type scored struct {
		of    reads.Issue
		score float64
	}
	var list []scored
	for _, o := range others {
		score := 0.0
		for word, count := range bag(o.Title, o.Body) {
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

// weigh returns the weight of words, by their number among issues.
func weigh(issues []reads.Issue) func(word string) float64 {
	in := map[string]int{}
	for _, is := range issues {
		for word := range bag(is.Title, is.Body) {
			in[word]++
		}
	}
	return func(word string) float64 { return math.Log(float64(len(issues)+2) / float64(in[word]+1)) }
}

// rarest returns the words of an issue to search for: those of its title, the rarest among
// the newest issues first, and then those of its text.
func rarest(is ghapp.Issue, newest []reads.Issue) []string {
	weight := weigh(newest)
	var out []string
	for _, text := range []string{is.Title, head(is.Body)} {
		var list []string
		for word := range words(text) {
			if !slices.Contains(out, word) && !slices.Contains(list, word) {
				list = append(list, word)
			}
		}
		slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(weight(stem(b)), weight(stem(a))) })
		out = append(out, list...)
	}
	return out
}

// bag returns the words of a title and a text with their counts, by their first letters, so
// that "crash" and "crashes" are the same.
func bag(title, text string) map[string]float64 {
	out := map[string]float64{}
	for word := range words(head(text)) {
		out[stem(word)] = 1
	}
	for word := range words(title) {
		out[stem(word)] = titleCount
	}
	return out
}

// head returns the part of a text that is compared.
func head(text string) string { return text[:min(len(text), maxText)] }

// words returns the words of a text that are long enough to tell something, in lower case.
func words(text string) iter.Seq[string] {
	const shortest = 3
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
		}) {
			if utf8.RuneCountInString(word) >= shortest && !yield(word) {
				return
			}
		}
	}
}

func stem(word string) string {
	r := []rune(word)
	return string(r[:min(len(r), 6)])
}
