package host

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// TestMatcherLikeEveryLine: the shortcuts find what trying each line finds.
func TestMatcherLikeEveryLine(t *testing.T) {
	patterns := []string{`foo`, `fo+b`, `^foo$`, `foo.*bar`, `(?i)FOO`, `(foo|bar)x?`, `\bfoo\b`, `^$`, `o\s*b`, `[^f]oo`, `x{2,}`, `$`, `(ab)+c?`,
		`foo|bar`, `(?i)foo|BAR`, `(?i)kass|s`, `(?i)ob|x`, `fo(o|b)x|bar`, `(?i)[ab]foo`, `foo|b*`, `(?i:foo)bar|x`, `o{2}b|bo`, `(?i)fooß`, `K|ob`}
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.OneOf(rapid.SampledFrom(patterns), expressions(3)).Draw(t, "pattern")
		lines := rapid.SliceOfN(rapid.StringMatching(`([fo ]|[foFbx ]|[FOBARX]|[ksKSſ\x{212A}ßẞ]){0,8}\r?`), 1, 12).Draw(t, "lines")
		m, err := lineMatcher(workspace.Query{Pattern: pattern, Regex: true})
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile(pattern)
		text := strings.Join(lines, "\n") + "\n"
		var want, got []string
		for i, l := range lines {
			if re.MatchString(strings.TrimSuffix(l, "\r")) {
				want = append(want, fmt.Sprint(i))
			}
		}
		in := m.In([]byte(text), make([]byte, len(text)))
		for from := 0; ; {
			start, end, ok := in.Next(from)
			if !ok {
				break
			}
			got = append(got, fmt.Sprint(strings.Count(text[:start], "\n")))
			from = end + 1
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("%s in %q: lines %v, want %v", pattern, text, got, want)
		}
	})
}

// expressions are regular expressions of all kinds, in which runs of classes are frequent.
func expressions(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{`f`, `[fo]`, `[A-Z]`, `[a-f]`, ` `, `f`, `[fo]`, `[A-Z]`, `[a-f]`, ` `, `fo`, `\w`, `\s`, `.`, `[^f]`, `(?i:k)`, `(?i:fo)`, `ß`, `[ßa]`, `\b`, `^`, `$`, `\x{212A}`})
	if depth == 0 {
		return leaf
	}
	sub := expressions(depth - 1)
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return leaf.Draw(t, "leaf")
		case 1:
			return "(?:" + sub.Draw(t, "a") + "|" + sub.Draw(t, "b") + ")"
		case 2:
			return "(" + sub.Draw(t, "a") + ")" + rapid.SampledFrom([]string{"*", "+", "?", "{2}", "{2,}", "{0,2}", "{1,3}", "+?"}).Draw(t, "times")
		}
		return sub.Draw(t, "a") + sub.Draw(t, "b")
	})
}

// TestRunsMayBeApart: what stands between two parts, and how often one comes, is no part
// of a run unless it is known.
func TestRunsMayBeApart(t *testing.T) {
	for _, tt := range []struct{ pattern, line string }{
		{`[A-Z].*[0-9]`, "Axx1"},
		{`[+-](?:[A-Z].*[0-9])`, "+Axx1"},
		{`[A-Z]\w*[0-9]`, "A1"},
		{`[A-Z](x|yz)?[0-9]`, "Ayz1"},
		{`(?:[A-Z]|[0-9][0-9])[+-]`, "11+"},
		{`(?:[A-Z]|[0-9][0-9])[+-]`, "A+"},
		{`[+-](?:[A-Z]|[0-9][A-F])[+-]`, "-9F-"},
		{`(?:[A-Z]|[0-9][A-F]){2}[+-]`, "A9F-"},
		{`[A-Z]{2,}[0-9]`, "AAAA1"},
		{`(?:[A-Z][0-9]){2,3}[+-]`, "A1A1A1-"},
		{`[+-](?:[A-Z][0-9]){2,3}[+-]`, "+A1A1A1-"},
		{`[A-Z]{70}[+-][A-Z]{70}`, strings.Repeat("A", 70) + "+" + strings.Repeat("B", 70)},
		{`(?:[A-Z]{40}[0-9]){2}`, strings.Repeat(strings.Repeat("A", 40)+"1", 2)},
	} {
		m, err := lineMatcher(workspace.Query{Pattern: "(?:" + tt.pattern + ")$", Regex: true})
		if err != nil {
			t.Fatal(err)
		}
		text := []byte("nothing\n" + tt.line + "\n")
		if m.run == nil {
			t.Errorf("%s has no run", tt.pattern)
		}
		if start, _, ok := m.In(text, nil).Next(0); !ok || start != len("nothing\n") {
			t.Errorf("%s is not found in %q", tt.pattern, tt.line)
		}
	}
}

// TestRuns: what is sure to be in a match is found wherever it can be.
func TestRuns(t *testing.T) {
	for pattern, want := range map[string]string{ // by what is known
		`[A-Z]{3,}[0-9]+`: "4", `\d{6}`: "6", `.*\d\d`: "2", `[0-9]{4}-[0-9]{2}`: "7", `(a|b)[0-9]`: "2", `(?i)x[0-9]`: "2",
		`[^a]+`: "", `\w*`: "", `[A-Z]?`: "", `(?i)k`: "", `[a-zß]`: "",
		strings.Repeat(`[0-9]`, 100): "64",
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if r := runOf(tree); r != nil {
			got = fmt.Sprint(r.size)
		}
		if got != want {
			t.Errorf("%s has a run of %q, want %q", pattern, got, want)
		}
	}
}

// TestLower: ASCII letters become lower case and nothing else changes.
func TestLower(t *testing.T) {
	all := make([]byte, 0, 300)
	for c := range 256 {
		all = append(all, byte(c))
	}
	for from := range 9 {
		text := all[from:]
		got := make([]byte, len(text))
		lower(got, text)
		for i, c := range text {
			want := c
			if c >= 'A' && c <= 'Z' {
				want += 'a' - 'A'
			}
			if got[i] != want {
				t.Fatalf("%q became %q", c, got[i])
			}
		}
	}
}
