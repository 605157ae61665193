package policy

import "testing"

func TestReviewTurns(t *testing.T) {
	m, err := ParseMode("review")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ files, lines, want int }{
		{0, 0, m.Turns}, {5, 300, m.Turns}, {7, 300, m.Turns + 1}, {5, 500, m.Turns + 1}, {15, 1300, m.Turns + 10},
		{3000, 90_000, 3 * m.Turns},
	} {
		if got := m.ReviewTurns(c.files, c.lines); got != c.want {
			t.Errorf("%d files, %d lines: %d turns, want %d", c.files, c.lines, got, c.want)
		}
	}
}
