package untrusted_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/untrusted"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// shapes are texts with words that a reader sees or does not; which, the judge
// says. W stands for a word, S for another shape in its place, L for a line break, R for a carriage return, N for a line feed.
var shapes = []string{
	"W <!-- W --> W", "W <!-- W -- W --> W", "`W <!-- ` W --> W", "``W` <!-- W --> W", "<!-- WLLW --> WL", "L<!-- WLLW", "<!--> W --> W", "<!-- W --!> W --> W", "W <!---> W",
	"https://x.test/` <!-- W --> `", "www.x.test/a`<b title='W'>`W", "\\`<!-- W -->`", "`W\\` <!-- W --> `",
	"| W | W |L|---|---|L| W | W | W | W |L| W |L", "W|WL-|-LW|W|W|WLLW", "|W|L|-|L|W|W|LW W|W", "> |W|L> |-|L> |W|W|L", "- |W|L  |-|L  |W|W|L", "|`W\\|W`|L|-|L|W \\| W|W|L",
	"```W WLW <!-- W -->L```L", "~~~ go WLWL~~~L", "````WLW```L````L", "- ```WL  WL  ```L", "> ```WL> WLLW", "    W <!-- W -->LLW", "```L```W WLWL```L", "```goL\tW  WL```L", "\tWLL",
	"[](W)", "[W](W)", "[W](<W> \"W\")", "[W](x.test/W (W))", "[W][W]LL[W]: /W \"W\"L", "[](https://x.test/W)W", "<https://x.test/W>", "https://x.test/W", "[W <!-- W --> W](/W 'W')", "[W](/u \"WLW\")", "[W](/u( \"W\")", "![W](W(W 'W')", "[W](W(()W)", "[W]: W(W \"W\"LL[W]", "[W](x) W) (W", "[W]( /W )",
	"[W](/W \"W\\\")", "![W](/W 'W\\')", "[W](/W (W\\))", "[W](<W> \"\\\")", "[W](W \"W\\\" W\")", "[W](W \"W\\\\\" W\")", "[W]: W \"W\\\"LL[W]", "[W]: W 'W\\\\' W'LW", "[W](W 'W\\') W')", "L[//]: # (W\\)L",
	"- [x] [//]: # (W)L", "1. [ ] [W]: W \"W\"LL[W]", "- [X] [W]: W W", "> - [x] [//]: # (W)L", "- - [x] [W]: WL", "- [x] [W]:L  WL  W", "* [x]  [W]: WL  W",
	"WR<!-- WRRW -->RW", "```RWR```RW", "[W]: WRW", "> WRRW", "| W |R|---|R| W | W |R", "RNWRN    WRN", "W  RW\\RW", "- WRN- W",
	"WL<source>[W](W)", "WL<source W>W", "<source>LW", "WL</source>W",
	"1. - L L      [W](/W)", "- - L L    W", "- L L  W", "- L   WL", "* *L L   W", "1. -L    LL      W", "[^1]LL[^1]: WL L    WL", "> [^1]LL> [^1]: WL>L>     W", "[^1]LL[^1]: WLL    WL    L    W",
	"![W](W)", "![W](/u \"W\")", "[![W](W)](W)", "![W [W](W) W](W)", "![W][W]LL[W]: W", "![W]LL[W]: <W> 'W'", "<img alt=\"W\" src=W>", "<img alt='W'>", "!\\[W](W)", "![`W`](/u)",
	"L[//]: # (W)L", "L[//]: # \"W\"LW", "L[W]: <W>L  \"WL  W\"L", "L[comment]: # (W) WL", "> [//]: # (W)L", "W L[//]: # (W)L", "L[W]:L/WL'W'L", "- [//]: # (W)LLW",
	"W[^1] W[^2]LL[^1]: WLL    WLL[^3]: WL", "L[^W]: WLW", "W[^W]LL[^W]: W[^a]LL[^a]: W", "![^1]LL[^1]: WL",
	"<details><summary>W</summary>LLWLL</details>", "<div hidden>W</div>", "<span style=\"display:none\" title=\"W\">W</span>", "<p align=W>W</p>", "<a href=W name='W'>W</a>", "<b W>W</b>", "<div title=\"LLWLL\">W", "<div W='LLW'>",
	"<script>W</script>W", "<style>W</style>W", "<title>W</title>", "<textarea>W</textarea>", "<template>W</template>", "<select><option value=W>W</select>", "<input value=W placeholder='W'>W", "<xmp>W</xmp>", "<div><script>W</script></div>", "<table><tr><td>W<td title=W>W</table>",
	"<?php W ?> W", "<!DOCTYPE W> W", "<!W W> W", "<![CDATA[ W ]]> W", "L<? W > W ?>LW", "L<!ELEMENT W>LW", "</W>W", "</ W>W", "<W>W", "<W W=W>W</W>", "W<W", "<a-W>W", "<div></b W>W", "[W]: /W\f\"W\"LL[W]", "<diW", "L<div><!-- WLLW --> WL", "L<pre>W <!-- W --> <b title=W>W</b></pre>L", "<details open title=W>W</details>",
	"W </body> W", "</html>W", "<body/>W", "W<html/>W", "<body>W</body>W", "<html><body W>W</body></html>W", "<head>W</head>W", "W</head>W", "L<body>LLWLL</body>L", "L</body>L", "L<head/>L", "<body W/>", "</body W>W", "<BODY/ >W",
	"&lt;!-- W --&gt;", "&#60;!-- W --&#62;", "&amp;lt;b title=W&amp;gt;", "\\<!-- W -->", "&W;", "&nbsp;W", "W&#x200b;W",
	"# WL", "WL===L", "**W** _W_ ~~W~~", "W\\LW", "W  LW", "- WL- W", "1. WL2) W", "> W", "---L", "* W <!-- W -->", "- [x] W", "W **W W* _W", "<kbd>W</kbd>", "W<br>W", "<sub>W</sub>", "@W #1 :W:", "$W$",
}

// wraps are what a shape may stand in.
var wraps = []string{"S", "S", "S", "> S", "- S", "1. S", "**S**", "| S | W |\n|---|---|\n", "<div>\n\nS\n\n</div>", "<!-- S", "`S`", "``S", "[S](W)", "![S](W)", "S <!-- W -->", "W S W", "<p>S", "(S)", "\"S\"", "    S", "~~~\nS\n~~~", "[^1]: S", "\\S", "# S", "*S*", "<b>S</b>", "\"> S", "W\nS", "S\nW", "'S", "- W\n  S", "> - S"}

// cases are texts that were once read in another way than GitHub reads them.
var cases = []string{
	"[W](<W>\"W\")", "[W](<<W> \"W\")", "![W](<W>'W')", "[W](<W>W)", "[W](<W\n> W)", "[W](<W>\"W\")\n\n[W]: /W", "- [W](\n<W<W>)", "> [W](<W>(W))",
	">www.x.test/a`<b title='W'>`W # W", ">https://x.test/a`<b title='W'>`W", "[^1]\n\n[^1]:www.x.test/a`<b title='W'>`W", ">W\n>www.x.test/a`<b title='W'>`W", "> - >www.x.test/`<b title='W'>`",
	"<div title=\"\n\nW\n\n\">W\n\n- [X] [W]: W W", "<source>\nW\n<div title=\"\n\nW\n\">W\n* [x]  [W: W\n  W", "<div title=\"\n\nW\n\n1. [ ] W\n- W\n- [x] W\n\nW",
	"![<p><![CDATA[ W ]]]> W](W)", "<![CDATA[ W ]] W ]]> W", "<title>W</title\n[W](x) W) (W", "W </style > W", "W </script W", "W </xmp\v> W",
}

func text(r *rand.Rand, words *int) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		s := shapes[r.IntN(len(shapes))]
		for range r.IntN(3) {
			s = strings.Replace(wraps[r.IntN(len(wraps))], "S", s, 1)
		}
		if r.IntN(6) == 0 { // one character too few, or twice
			if i := r.IntN(len(s)); s[i] != 'W' {
				s = s[:i] + strings.Repeat(s[i:i+1], r.IntN(2)*2) + s[i+1:]
			}
		}
		b.WriteString(strings.NewReplacer("L", "\n", "R", "\r", "N", "\n").Replace(s))
		b.WriteString([]string{"\n\n", "\n\n", "\n", " ", ""}[r.IntN(5)])
	}
	return withWords(b.String(), words)
}

// withWords puts a word of its own in each place of one.
func withWords(s string, words *int) string {
	var out strings.Builder
	for _, c := range s {
		if c == 'W' {
			*words++
			fmt.Fprintf(&out, "wq%dz", *words)
		} else {
			out.WriteRune(c)
		}
	}
	return out.String()
}

var word = regexp.MustCompile(`wq\d+z`)

// What the model is given of a page has the words that GitHub shows, and no other: judged
// by GitHub's own parser and filters. What stands in for GitHub hides the same words, but
// for corners in which parsers keep to no rule.
func TestWordsAsOnGitHub(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	n := githubcheck.Texts(os.Getenv("HANDRAIL_LONG"), 3000, 25_000)
	words, all := 0, 0
	var asked, own tally
	r := rand.New(rand.NewPCG(githubcheck.Seed(), 2))
	for n > 0 {
		texts := make([]string, min(n, 5000))
		n -= len(texts)
		for i := range texts {
			texts[i] = text(r, &words)
		}
		if all == 0 {
			for _, s := range cases {
				texts = append(texts, withWords(s, &words))
			}
		}
		all += len(texts)
		for i, s := range j.Show(t, texts...) {
			if leaks, _ := asked.add(texts[i], s.Visible, seenOn(s.HTML)); leaks != "" {
				t.Errorf("%s of %q is told as %q", leaks, texts[i], seenOn(s.HTML))
			}
			clean, _ := untrusted.Clean(texts[i], "")
			own.add(texts[i], s.Visible, clean)
		}
	}
	t.Logf("asked %+v, own %+v", asked, own)
	if asked.gone > 0 {
		t.Errorf("%d words that a reader sees are gone", asked.gone)
	}
	if own.leaked*20 > own.hidden || own.gone*10 > own.seen {
		t.Errorf("what stands in for GitHub reads many texts in another way: %+v", own)
	}
	if asked.hidden < 1000 || asked.seen < 1000 {
		t.Errorf("only %d hidden words and %d seen: the test says little", asked.hidden, asked.seen)
	}
}

// tally counts words: hidden and not told, told and not hidden, and the mistakes.
type tally struct{ hidden, seen, leaked, gone int }

// add looks at the words of a text, and returns the first that is told and hidden, and the
// first that is seen and not told.
func (n *tally) add(text, visible, told string) (leaked, gone string) {
	shown, given := map[string]bool{}, map[string]bool{}
	for _, w := range word.FindAllString(visible, -1) {
		shown[w] = true
	}
	for _, w := range word.FindAllString(told, -1) {
		given[w] = true
	}
	for _, w := range word.FindAllString(text, -1) {
		switch {
		case given[w] && !shown[w]:
			n.leaked++
			leaked = w
		case shown[w] && !given[w]:
			n.gone++
			gone = w
		case shown[w]:
			n.seen++
		default:
			n.hidden++
		}
	}
	return leaked, gone
}

func seenOn(page string) string {
	seen, _ := untrusted.Clean("", page)
	return seen
}

// TestSuggestedChange reads a suggested change as GitHub shows it: which lines go and which come,
// with their indentation.
func TestSuggestedChange(t *testing.T) {
	page := `<p dir="auto">/agent take this</p>
  <div class="my-2 border rounded-2 js-suggested-changes-blob diff-view" id="">
    <div class="f6 p-2 lh-condensed border-bottom d-flex">
      <div class="flex-auto flex-items-center color-fg-muted">
        Suggested change
      </div>
    </div>
    <div itemprop="text" class="blob-wrapper data file">
      <table class="d-table tab-size mb-0 width-full" data-paste-markdown-skip="">
          <tbody><tr class="border-0">
            <td class="blob-num blob-num-deletion text-right border-0" data-line-number="2"></td>
            <td class="border-0 px-2 py-1 blob-code-inner blob-code-deletion js-blob-code-deletion blob-code-marker-deletion">    <span class="pl-c1">echo</span> <span class="x">Helo</span></td>
          </tr>
          <tr class="border-0">
            <td class="blob-num blob-num-addition text-right border-0" data-line-number="2"></td>
            <td class="border-0 px-2 py-1 blob-code-inner blob-code-addition js-blob-code-addition blob-code-marker-addition">    <span class="pl-c1">echo</span> Hello</td>
          </tr>
      </tbody></table>
    </div>
    <div class="js-apply-changes"></div>
  </div>
<p dir="auto">and the same below</p>`
	got, _ := untrusted.Clean("not read", page)
	want := "/agent take this\n\nSuggested change:\n```diff\n-    echo Helo\n+    echo Hello\n```\n\nand the same below"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
