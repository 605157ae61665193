package phrase

import (
	"strings"
	"testing"
)

func TestShort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"äöüß", 4, "äöüß"},
		{"äöüßé", 4, "äöü…"},
	} {
		if got := Short(c.text, c.n); got != c.want {
			t.Errorf("Short(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "\n one \ntwo": "one ", "one": "one"} {
		if got := FirstLine(text); got != want {
			t.Errorf("FirstLine(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{"": "", "a": "a", "a b": "a and b", "a b c": "a, b and c"} {
		if got := List(strings.Fields(list)); got != want {
			t.Errorf("List(%q) = %q, want %q", list, got, want)
		}
	}
}
