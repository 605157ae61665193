package policy

import "github.com/handrail-bot/handrail/policy/typo"

// nearest returns the candidate closest to word by edit distance, or "" when none is
// close enough for a typing error. Of two that are equally close, it returns the one
// as long as word.
func nearest(word string, candidates []string) string {
	best, bestDist := "", 2*(1+max(1, len(word)/3))
	for _, c := range candidates {
		d := 2 * editDistance(word, c)
		if len(c) != len(word) {
			d++
		}
		if d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// editDistance returns how many errors turn one word into the other. It does not
// compare words longer than 64 bytes.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	return typo.Errors(a, b)
}
