package shell

import "testing"

func TestQuote(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"":             "''",
		"a/b-c_d.go:1": "a/b-c_d.go:1",
		"--x=1,2@3%+":  "--x=1,2@3%+",
		"A=b":          "'A=b'",
		"a b":          "'a b'",
		"$(id)":        "'$(id)'",
		"~":            "'~'",
		"it's":         `'it'\''s'`,
		"a\nb":         "'a\nb'",
		"ä":            "'ä'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("Quote(%q) = %s, want %s", word, got, want)
		}
	}
}
