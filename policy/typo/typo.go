// Package typo counts typing errors in a word.
package typo

// maxWord is the maximum length of words that are compared, in bytes.
const maxWord = 64

// Nearest returns the candidate with the fewest typing errors relative to word, or "" if
// none is close enough. Of equally close ones, it prefers one of the same length.
func Nearest(word string, candidates []string) string {
	best, least := "", 2*(1+max(1, len(word)/3))
	for _, c := range candidates {
		if len(word) > maxWord || len(c) > maxWord {
			continue
		}
		d := 2 * Errors(word, c)
		if len(c) != len(word) {
			d++
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// Errors returns the number of insertions, deletions, substitutions and transpositions of
// neighbors between a and b, in characters.
func Errors(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			wrong := 1
			if x[i-1] == y[j-1] {
				wrong = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+wrong)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(x)][len(y)]
}
