package index

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
)

// maxWords is the maximum number of words of a question to look for.
const maxWords = 12

// Words returns the words of a question to look for in files, in lower case: without those
// of the language itself, and names also in their parts.
func Words(question string) []string {
	var out []string
	add := func(w string) {
		w = strings.ToLower(w)
		if len(w) > 2 && !common[w] && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	for _, w := range strings.FieldsFunc(question, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}) {
		add(w)
		if parts := split(w); len(parts) > 1 {
			for _, p := range parts {
				add(p)
			}
		}
	}
	return out[:min(len(out), maxWords)]
}

// common are words of English that say nothing about a program.
var common = set(`a about after all also an and any are as at be been before being between both but by can code could
	did do does done each either else every file files find for from function get gets had has have how
	if in into is it its itself like made make makes many may me might more most must no not of off on
	once one only or other out over own program same should show since so some such than that the their
	them then there these they this those through to under until up upon use used uses using via was we
	were what when where whether which while who why will with within without would you your happens
	implemented handled handle decides decide logic place part`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// split returns the parts of a name: parseHTTPHeader and parse_http_header have three.
func split(name string) []string {
	var out []string
	for _, part := range strings.Split(name, "_") {
		start := 0
		r := []rune(part)
		for i := 1; i < len(r); i++ {
			if unicode.IsUpper(r[i]) && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
				out = append(out, string(r[start:i]))
				start = i
			}
		}
		if start < len(r) {
			out = append(out, string(r[start:]))
		}
	}
	return out
}

// Stem returns the part of a word that its other forms share: "redacted", "redacts" and
// "redaction" have one.
func Stem(w string) string {
	for _, end := range []string{"ations", "ation", "ings", "ing", "ions", "ion", "ies", "ied", "ers", "er", "es", "ed", "s", "y", "e"} {
		if s, ok := strings.CutSuffix(w, end); ok && len(s) >= 4 {
			return s
		}
	}
	return w
}

// Source is a file that has words of a question.
type Source struct {
	Path string
	Text []byte
}

// Rank returns the chunks of files that have the most and the rarest words of a question,
// best first. weight is the importance of each word.
func Rank(files []Source, weight map[string]float64, most int) []Hit {
	type ranked struct {
		Hit
		score float64
	}
	var list []ranked
	for _, f := range files {
		name := strings.ToLower(f.Path)
		for _, c := range cut(f.Path, f.Text) {
			text := strings.ToLower(c.Text)
			first, _, _ := strings.Cut(text, "\n")
			size := 1 + float64(len(text))/2000
			score := 0.0
			for w, rare := range weight {
				n := strings.Count(text, w)
				if n == 0 {
					continue
				}
				score += rare * float64(n) * 2.2 / (float64(n) + 1.2*size*0.75 + 0.3)
				if strings.Contains(first, w) {
					score += rare * 0.4
				}
			}
			if score == 0 {
				continue
			}
			for w, rare := range weight {
				if strings.Contains(name, w) {
					score += rare * 0.5
				}
			}
			if isAside(f.Path) {
				score *= 0.7
			}
			list = append(list, ranked{Hit{Path: f.Path, From: c.From, To: c.To}, score})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Path, b.Path), cmp.Compare(a.From, b.From))
	})
	out := make([]Hit, 0, most)
	for _, r := range list[:min(len(list), most)] {
		out = append(out, r.Hit)
	}
	return out
}

// isAside reports whether a file tests or explains code, rather than being it.
func isAside(name string) bool {
	base := path.Base(name)
	return strings.Contains(base, "_test.") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") ||
		strings.HasPrefix(base, "test_") || strings.HasPrefix(base, "CHANGELOG") || strings.Contains("/"+name, "/tests/") ||
		strings.Contains("/"+name, "/test/")
}

// Weigh returns the importance of a word that is in some of all places.
func Weigh(places, all int) float64 {
	return math.Log(1 + (float64(all)-float64(places)+0.5)/(float64(places)+0.5))
}

// Join joins ranked lists by reciprocal rank: a chunk that several lists have comes before
// one that only one has. Chunks of one file that share lines are one.
func Join(most int, lists ...[]Hit) []Hit {
	const smooth = 20 // how little the first ranks differ
	type joined struct {
		Hit
		score float64
	}
	var out []joined
	for _, list := range lists {
		for rank, h := range list {
			score := 1 / float64(smooth+rank+1)
			at := slices.IndexFunc(out, func(o joined) bool { return o.Path == h.Path && o.From <= h.To && h.From <= o.To })
			if at < 0 {
				out = append(out, joined{h, score})
				continue
			}
			out[at].score += score
			out[at].Near = max(out[at].Near, h.Near)
		}
	}
	slices.SortStableFunc(out, func(a, b joined) int { return cmp.Compare(b.score, a.score) })
	hits := make([]Hit, 0, most)
	for _, j := range out[:min(len(out), most)] {
		hits = append(hits, j.Hit)
	}
	return hits
}
