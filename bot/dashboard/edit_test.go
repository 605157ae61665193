package dashboard

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

// told returns lines as text, with the kind of each coloured part.
func told(lines []diffLine) (out []string) {
	for _, l := range lines {
		text := l.Text
		if l.Parts != nil {
			text = ""
		}
		for _, p := range l.Parts {
			if p.Kind != "" {
				text += "[" + p.Kind + " " + p.Text + "]"
			} else {
				text += p.Text
			}
		}
		out = append(out, strings.TrimSpace(l.Kind+"|"+text))
	}
	return out
}

// TestDiffColours: a diff has the colours of each file's language, also within texts and
// comments of several lines; the sides do not disturb each other.
func TestDiffColours(t *testing.T) {
	t.Parallel()
	lines := diffLines("diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,4 +1,4 @@\n \n-/* if\n+x := `if\n for` + 1\n@@ -9 +9 @@\n+if x\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0 @@\n-if y\n--- /dev/null\n+++ b/c.py\n@@ -0 +1 @@\n+pass # no\n")
	colour("", lines)
	want := []string{
		"hunk|diff --git a/a.go b/a.go", "hunk|--- a/a.go", "hunk|+++ b/a.go", "hunk|@@ -1,4 +1,4 @@",
		"|", "del|-[comment /* if]", "add|+x := [string `if]", "| [string for`] + [number 1]", "hunk|@@ -9 +9 @@", "add|+[word if] x",
		"hunk|--- a/b.txt", "hunk|+++ /dev/null", "hunk|@@ -1 +0 @@", "del|-if y",
		"hunk|--- /dev/null", "hunk|+++ b/c.py", "hunk|@@ -0 +1 @@", "add|+[word pass] [comment # no]",
	}
	if d := cmp.Diff(want, told(lines)); d != "" {
		t.Error(d)
	}
	for args, want := range map[string][]string{
		`{"path":"a.go","old_string":"return 1","new_string":"return"}`: {"del|[word return] [number 1]", "add|[word return]"},
		`{"path":"notes","content":"return"}`:                           {"add|return"},
	} {
		v := callOf(session.Call{Name: "edit", Arguments: []byte(args)})
		if d := cmp.Diff(want, told(v.Lines)); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
}

// TestColoursKeepTheLines: the parts of a line are the line, whatever it holds, and are
// escaped like it.
func TestColoursKeepTheLines(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.go", "a.js", "a.py", "a.rb", "a.sh", "a.php"} {
		lines := diffLines(neutral(strings.Join(hostileTexts, "\n") + "\n+" + strings.Join(hostileTexts, "\n-") + "\n \n+\n"))
		colour(name, lines)
		for _, l := range lines {
			var b strings.Builder
			for _, p := range l.Parts {
				b.WriteString(p.Text)
			}
			if l.Parts != nil && b.String() != l.Text {
				t.Errorf("%s: %q became %q", name, l.Text, b.String())
			}
		}
		s, _ := start(t, newWorld().config())
		page, err := s.html("lines", append(lines, diffLine{Text: "x", Parts: []outline.Part{{Kind: "string", Text: "<script>"}}}))
		if err != nil || strings.Contains(string(page), "<script") || strings.Contains(string(page), "<svg") {
			t.Errorf("%s: %v, %s", name, err, page)
		}
	}
}

// luminance returns the relative luminance of a colour such as #1a2b3c, as WCAG defines it.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 4 {
		hex = fmt.Sprintf("#%c%c%c%c%c%c", hex[1], hex[1], hex[2], hex[2], hex[3], hex[3])
	}
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// TestDiffContrast: each colour of a diff can be read on each ground that it stands on, in
// both themes: a contrast of 4.5 to 1, which is AA.
func TestDiffContrast(t *testing.T) {
	t.Parallel()
	css, err := assets.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(css), "prefers-color-scheme: dark")
	dark, _, _ = strings.Cut(dark, "* {")
	if !ok {
		t.Fatal("there is no dark theme")
	}
	variable := regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{3,6})`)
	for theme, text := range map[string]string{"light": light, "dark": dark} {
		is := map[string]string{}
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			is[m[1]] = m[2]
		}
		for ink, grounds := range map[string][]string{
			"ink": {"soft", "add", "del"}, "add-ink": {"add"}, "del-ink": {"del"}, "hunk-ink": {"hunk"},
			"in-word": {"soft", "add", "del"}, "in-string": {"soft", "add", "del"}, "in-number": {"soft", "add", "del"}, "in-comment": {"soft", "add", "del"},
		} {
			for _, ground := range grounds {
				a, b := luminance(t, is[ink]), luminance(t, is[ground])
				if ratio := (max(a, b) + .05) / (min(a, b) + .05); ratio < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", theme, ink, ground, ratio)
				}
			}
		}
	}
}
