package host

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/handrail-bot/handrail/agent/workspace"
)

func TestPlain(t *testing.T) {
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
		if got := plain([]byte(tt.in)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSinkKeepsBothEnds(t *testing.T) {
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

func TestNormalize(t *testing.T) {
	r := func(from, to int) workspace.Range { return workspace.Range{From: from, To: to} }
	for _, tt := range []struct {
		in, want []workspace.Range
	}{
		{nil, []workspace.Range{r(1, 0)}},
		{[]workspace.Range{r(5, 3)}, []workspace.Range{}},
		{[]workspace.Range{r(-4, 2), r(3, 4)}, []workspace.Range{r(1, 4)}},
		{[]workspace.Range{r(10, 20), r(1, 2), r(12, 15)}, []workspace.Range{r(1, 2), r(10, 20)}},
		{[]workspace.Range{r(3, 0), r(5, 9)}, []workspace.Range{r(3, 0)}},
	} {
		if got := normalize(tt.in); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%v: %v, want %v", tt.in, got, tt.want)
		}
	}
}
