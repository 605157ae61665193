package policy

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

// editDistance returns how many bytes to insert, delete, replace or swap with their
// neighbor. It does not compare words longer than 64 bytes.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
