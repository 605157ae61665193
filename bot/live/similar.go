package live

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

// compared are the newest issues of a repository with their words.
type compared struct {
	issues []reads.Issue
	bags   []map[string]float64 // of each issue
	in     map[string]int       // number of the issues that have a word
}

func compare(newest []reads.Issue) compared {
	c := compared{issues: newest, in: map[string]int{}}
	for _, is := range newest {
		words := bag(is.Title, is.Body)
		c.bags = append(c.bags, words)
		for word := range words {
			c.in[word]++
		}
	}
	return c
}

// weight returns the weight of a word: the more the fewer of the newest issues have it.
func (c compared) weight(word string) float64 {
	return math.Log(float64(len(c.issues)+2) / float64(c.in[word]+1))
}

// similar returns the issues whose words are most like those of an issue, best first, at
// most [maxSame], of the newest and of those that a search found.
func (c compared) similar(is ghapp.Issue, found []reads.Issue) []reads.Issue {
	others, bags := slices.Clip(c.issues), slices.Clip(c.bags)
	for _, f := range found {
		if !slices.ContainsFunc(others, func(o reads.Issue) bool { return o.Number == f.Number }) {
			others, bags = append(others, f), append(bags, bag(f.Title, f.Body))
		}
	}
	mine, all := bag(is.Title, is.Body), 0.0
	for word, count := range bag(is.Title, "") {
		all += count * c.weight(word)
	}
	type scored struct {
		of    reads.Issue
		score float64
	}
	var list []scored
	for i, o := range others {
		score := 0.0
		for word, count := range bags[i] {
			score += min(count, mine[word]) * c.weight(word)
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

// rarest returns the words of an issue to search for: those of its title, the rarest among
// the newest issues first, and then those of its text.
func (c compared) rarest(is ghapp.Issue) []string {
	var out []string
	for _, text := range []string{is.Title, head(is.Body)} {
		var list []string
		for word := range words(text) {
			if !slices.Contains(out, word) && !slices.Contains(list, word) {
				list = append(list, word)
			}
		}
		slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(c.weight(stem(b)), c.weight(stem(a))) })
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
