package typo

import "testing"

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "undo", 4},
		{"approve", "approve", 0},
		{"aprove", "approve", 1},
		{"approvve", "approve", 1},
		{"approwe", "approve", 1},
		{"apporve", "approve", 1},
		{"undo", "status", 6},
		{"grün", "grun", 1}, // a letter is no byte
		{"kitten", "sitting", 3},
	} {
		if got := Errors(c.a, c.b); got != c.want {
			t.Errorf("Errors(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Errors(c.b, c.a); got != c.want {
			t.Errorf("Errors(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
