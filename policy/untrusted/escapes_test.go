package untrusted

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestStripEscapes(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":             {"no escapes\n\ttab", "no escapes\n\ttab"},
		"color":             {"\x1b[31mred\x1b[0m rest", "red rest"},
		"cursor":            {"a\x1b[2K\x1b[1Gb", "ab"},
		"title":             {"\x1b]0;title\x07text", "text"},
		"title with st":     {"\x1b]0;title\x1b\\text", "text"},
		"link":              {"\x1b]8;;http://x\x1b\\label\x1b]8;;\x1b\\", "label"},
		"device string":     {"\x1bPq#0;2\x1b\\x", "x"},
		"eight bit":         {"a\u009b31mb", "ab"},
		"cut off":           {"text\x1b[3", "text"},
		"cut off string":    {"text\x1b]0;never closed", "text"},
		"letters in string": {"\x1b]0;é世\x07ok", "ok"},
		"wide":              {"\x1b[1m世界\x1b[0m 👩‍💻", "世界 👩‍💻"},
		"carriage return":   {"\x1b[1m1%\r2%\r\n", "1%\r2%\r\n"},
		"charset":           {"\x1b(Bx", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := StripEscapes(tt.in); got != tt.want {
				t.Errorf("StripEscapes(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// What the library's own function shows of a text that has no eight-bit
// controls is what is shown here, and nothing is left to strip.
func FuzzStripEscapes(f *testing.F) {
	f.Add("a\x1b[31mb\x1b]0;t\x07c\x1bPx\x1b\\d")
	f.Add("\x1b\x1b[[m\x18x\x1a")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		got := StripEscapes(s)
		if strings.ContainsRune(got, 0x1B) {
			t.Errorf("StripEscapes(%q) = %q: an escape is left", s, got)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r >= 0x7F }) {
			return
		}
		if want := ansi.Strip(s); got != want {
			t.Errorf("StripEscapes(%q) = %q, the library says %q", s, got, want)
		}
	})
}
