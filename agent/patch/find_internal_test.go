package patch

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// FuzzKey: the key that is made without the normal form is that of the normal
// form.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"", " ", "a", "\ta  b\v c\r", "  x", "x  ", "a & b", "a &amp; b", "“é” x", "\ufeffa", "a\u00a0b", "\x85a", "\xff a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for level := range compare.Levels {
			h := uint64(fnvStart)
			for _, c := range []byte(compare.Normal(s, level)) {
				h = (h ^ uint64(c)) * fnvPrime
			}
			if got := key(s, level); got != h {
				t.Errorf("key of %q at level %d is %d, of its normal form %d", s, level, got, h)
			}
		}
	})
}

// A text may end in a fence that nothing opened: many a README does.
func TestCleanFenceAtTheEnd(t *testing.T) {
	for _, text := range []string{"# Use\n\n    make\n```\n", "a\n```", "```", "```\n```\n"} {
		for _, name := range []string{"README.md", "a.go", "notes.txt"} {
			if got, _ := Clean(name, "", text); name == "README.md" && got != text {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
	}
}
