package host

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"text", "a\tb\nc", "a\tb\nc"},
		{"colors", "\x1b[1;31mred\x1b[0m", "red"},
		{"title and link", "\x1b]0;t\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\", "ab"},
		{"progress", "1%\r50%\r100%\ndone", "100%\ndone"},
		{"carriage return at the end", "a\r\nb\r", "a\nb"},
		{"backspace", "abc\b\bx\n", "ax\n"},
		{"backspace too often", "a\b\b\bb", "b"},
		{"bell and NUL", "a\x07b\x00c", "abc"},
		{"not UTF-8", "a\xffb", "a\uFFFDb"},
		{"unfinished escape", "a\x1b[3", "a"},
	} {
		if got := untrusted.Screen([]byte(tt.in)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSinkKeepsBothEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all bytes.Buffer
		s := &sink{}
		for i := range rapid.IntRange(1, 12).Draw(t, "writes") {
			p := bytes.Repeat([]byte{byte('a' + i)}, rapid.IntRange(0, 400<<10).Draw(t, "bytes"))
			all.Write(p)
			s.write(p)
		}
		got, cut := s.result()
		n := all.Len()
		if wantCut := int64(max(0, n-outHead-outTail)); cut != wantCut {
			t.Fatalf("%d bytes cut of %d, want %d", cut, n, wantCut)
		}
		if cut == 0 && got != all.String() {
			t.Fatalf("%d bytes were not kept as they are", n)
		}
		if cut > 0 && (!strings.HasPrefix(got, all.String()[:outHead]) || !strings.HasSuffix(got, all.String()[n-outTail:])) {
			t.Fatalf("an end is missing")
		}
	})
}
