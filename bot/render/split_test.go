package render

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// writer makes texts as models write them, with words that do not repeat.
type writer struct {
	r *rand.Rand
	n int
}

func (w *writer) pick(list ...string) string { return list[w.r.IntN(len(list))] }

func (w *writer) words(most int) string {
	var out []string
	for range 1 + w.r.IntN(most) {
		w.n++
		word := fmt.Sprintf("w%d", w.n)
		switch w.r.IntN(16) {
		case 0:
			word = "`" + word + "`"
		case 1:
			word = "**" + word + "**"
		case 2:
			word = fmt.Sprintf("[%s](https://a.example/%s)", word, word)
		case 3:
			word = fmt.Sprintf("(see %s)", word)
		case 4:
			word = w.pick("-", "+", "1.", "#", ">", "=", "\\", "&lt;") + " " + word
		}
		out = append(out, word)
	}
	return "Then " + strings.Join(out, " ")
}

func (w *writer) lines(most int, each func() string) string {
	var b strings.Builder
	for range 1 + w.r.IntN(most) {
		b.WriteString(each() + "\n")
	}
	return b.String()
}

// block writes one block, with others inside of it down to a depth.
func (w *writer) block(most, depth int) string {
	kind := w.r.IntN(11)
	if depth == 0 {
		kind %= 7
	}
	switch kind {
	case 0:
		return strings.Repeat("#", 1+w.r.IntN(4)) + " " + w.words(4) + "\n"
	case 1, 2:
		return w.lines(most, func() string { return w.words(12) })
	case 3:
		mark := w.pick("```", "~~~", "````")
		return mark + w.pick("", "go", "yaml title=x") + "\n" + w.lines(most*2, func() string {
			return w.pick("", "", "\t", "    ", "# ", "- ", "| ", "~~", "```"[:w.r.IntN(3)]) + w.words(6) + w.pick("", "\n")
		}) + mark + "\n"
	case 4:
		cols := 1 + w.r.IntN(4)
		row := func() string { return "| " + strings.Repeat(w.words(3)+" | ", cols) }
		return row() + "\n|" + strings.Repeat(w.pick("---", ":-:", "--:")+"|", cols) + "\n" + w.lines(most*2, row)
	case 5:
		return "    " + strings.ReplaceAll(strings.TrimSpace(w.lines(most, func() string { return w.words(6) })), "\n", "\n    ") + "\n"
	case 6:
		return w.pick("---", "***") + "\n"
	case 7, 8:
		n := w.r.IntN(12)
		mark := w.pick("- ", "* ", "1. ", "n. ", "n) ")
		return w.lines(most, func() string {
			n++
			mark := strings.ReplaceAll(mark, "n", fmt.Sprint(n))
			item := w.words(8) + "\n"
			for range w.r.IntN(3) {
				item += w.pick("", "\n") + w.block(max(1, most/2), depth-1)
			}
			return mark + strings.ReplaceAll(strings.TrimSpace(item), "\n", "\n"+strings.Repeat(" ", len(mark))) + w.pick("", "", "\n")
		})
	case 9:
		return "> " + strings.ReplaceAll(strings.TrimSpace(w.text(3, most, depth-1)), "\n", "\n> ") + "\n"
	}
	w.n++
	return fmt.Sprintf("Said before[^f%d] it\n\n[^f%d]: %s\n", w.n, w.n, w.words(5))
}

func (w *writer) text(blocks, most, depth int) string {
	var b strings.Builder
	for range 1 + w.r.IntN(blocks) {
		b.WriteString(w.block(most, depth) + "\n")
	}
	return b.String()
}

var word = regexp.MustCompile(`w\d+`)

// Each word that GitHub shows of a text it shows in the parts, in the same order, and in
// code when it was in code. No part is too long, and none is empty.
func TestPartsSayAll(t *testing.T) {
	t.Parallel()
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	n := githubcheck.Texts(os.Getenv("HANDRAIL_LONG"), 150, 20_000)
	var texts, parts []string
	var ends []int
	for i := range n {
		w := &writer{r: rand.New(rand.NewPCG(githubcheck.Seed(), uint64(i)))}
		s := w.text(12, 1+w.r.IntN(8), 3)
		room := []int{500, 700, 1000, 3000}[w.r.IntN(4)]
		got := markdown(s, room)
		for _, p := range got {
			if runeCount(p) > room || strings.TrimSpace(p) == "" {
				t.Errorf("%d: a part of %d characters, %d have room:\n%s", i, runeCount(p), room, p)
			}
		}
		texts, parts = append(texts, noFootnotes(s)), append(parts, got...)
		ends = append(ends, len(parts))
	}
	whole, shown := j.Show(t, texts...), j.Show(t, parts...)
	bad, from := 0, 0
	for i, to := range ends {
		var visible strings.Builder
		for _, s := range shown[from:to] {
			visible.WriteString(s.Visible + "\n")
		}
		if missing := missing(word.FindAllString(whole[i].Visible, -1), word.FindAllString(visible.String(), -1)); missing != "" {
			if bad++; bad < 4 {
				t.Errorf("%d: %s is not shown where it belongs:\n%s\n\nin parts:\n%s", i, missing, texts[i], strings.Join(parts[from:to], "\n=====\n"))
			}
		}
		from = to
	}
	t.Logf("%d of %d texts are bad; %d parts", bad, n, len(parts))
}

// missing is the first of the words that got does not have after those before it.
func missing(want, got []string) string {
	for _, w := range want {
		at := -1
		for i, g := range got {
			if g == w {
				at = i
				break
			}
		}
		if at < 0 {
			return w
		}
		got = got[at+1:]
	}
	return ""
}

// A part is a text that can be read alone: what is cut inside of a block says what it
// goes on with.
func TestPartsReadAlone(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("Some words that say something. ", 10) + "\n\n"
	for _, test := range []struct {
		name, text, second string
		parts              int
	}{
		{"a section", "# Top\n\n" + prose + "\n## Next\n\n" + prose, "## Next\n\nSome", 2},
		{"the higher heading", prose + "## Chapter\n\n### A\n\nShort.\n\n### B\n\n" + prose, "## Chapter\n\n### A", 2},
		{"a heading and its text", prose + "Short.\n\n### Last\n\n" + prose, "### Last\n\nSome", 2},
		{"a list", strings.Repeat("- "+prose, 3), "- Some", 3},
		{"numbers", "8. " + prose + "9. " + prose + "1. " + prose, "9. Some", 3},
		{"the third number", "8. " + prose + "9. " + prose + "1. Some\n   more", "9. Some", 2},
		{"code", "```go title=x\n" + strings.Repeat("line := 1\n", 60) + "```\n", "```go title=x\nline := 1\n", 2},
		{"a table", "| a | b |\n|---|:-:|\n" + strings.Repeat("| words | words |\n", 40), "| a | b |\n|---|:-:|\n| words", 2},
		{"a quotation", "> " + strings.Repeat(strings.TrimSpace(prose)+"\n>\n> ", 3), "> Some", 3},
		{"a paragraph", strings.Repeat("Some words `and code` too. ", 30), "Some words", 2},
	} {
		got := markdown(test.text, 500)
		if len(got) != test.parts || !strings.HasPrefix(got[1], test.second) {
			t.Errorf("%s: %d parts, the second is\n%s", test.name, len(got), got[min(1, len(got)-1)])
		}
	}
	got := markdown("8. "+prose+"9. "+prose+"1. Some\n   more\n\n   "+prose, 500)
	if last := got[len(got)-1]; !strings.HasPrefix(last, "10. Some\n    more\n\n    Some") {
		t.Errorf("the tenth item is\n%s", last)
	}
}

// A short text is left as it is, and a long one does not take long.
func TestWhatIsNotCut(t *testing.T) {
	t.Parallel()
	if got := markdown("  one\n\n> two", 500); len(got) != 1 || got[0] != "  one\n\n> two" {
		t.Errorf("a short text becomes %q", got)
	}
	for _, s := range []string{
		strings.Repeat("x", 700_000), strings.Repeat("> ", 200) + strings.Repeat("x ", 200_000), strings.Repeat("- a\n\n  ```\n", 40_000),
		strings.Repeat("`", 300_000) + " " + strings.Repeat("[", 100_000), strings.Repeat("é\\", 200_000), "|a|\n|-|\n" + strings.Repeat("|b|\n", 100_000),
	} {
		n := 0
		for _, p := range markdown(s, 60_000) {
			if n += runeCount(p); runeCount(p) > 60_000 {
				t.Errorf("%.20q: a part of %d characters", s, runeCount(p))
			}
		}
		if n < runeCount(strings.TrimSpace(s))*9/10 {
			t.Errorf("%.20q: %d of %d characters are left", s, n, runeCount(s))
		}
	}
}
