package untrusted

import (
	"strings"
	"testing"
)

func TestCleanTextHides(t *testing.T) {
	const canary = "CANARY"
	for name, in := range map[string]string{
		"comment":                 "a <!-- CANARY --> b",
		"comment block":           "a\n\n<!-- CANARY\n\nmore CANARY\n--> b",
		"unclosed at line start":  "a\n\n<!-- CANARY",
		"unclosed in list":        "- <!-- CANARY\n\nCANARY too",
		"unclosed in quote":       "> <!-- CANARY\n\nCANARY too",
		"closed with --!>":        "Hi\n<!-- CANARY --!>\nthanks",
		"short comment then text": "<!--> <!-- CANARY -->",
		"comment around fence":    "<!-- \n```\nCANARY\n```\n-->",
		"code span that is none":  "`foo\n<!-- ` CANARY -->",
		"fence that is none":      "<div>\n```\n<!-- CANARY -->\n```\n</div>",
		"backslash in block":      "<div>\n\\<!-- CANARY -->\n</div>",
		"instruction":             "a <?php CANARY ?> b",
		"behind the page":         "a </body> CANARY\n\nCANARY\n\n<p>CANARY",
		"behind the document":     "a\n\n</HTML >\n\n- CANARY",
		"behind two ends":         "<body>a</body> </body> CANARY",
		"empty page":              "- a\n\n<body/>\n\nCANARY",
		"empty head":              "<head/>\n\nCANARY",
		"alt text":                "![CANARY](https://sink.invalid/a.png)",
		"alt with brackets":       "![a [b] CANARY](https://sink.invalid/a.png)",
		"alt with html":           "![a <b c=\"]\"> CANARY](https://sink.invalid/a.png)",
		"alt by reference":        "![CANARY][x]\n\n[x]: https://sink.invalid",
		"alt in link":             "[![CANARY](a.png)](b \"t\")",
		"title double":            "[t](https://sink.invalid \"CANARY\")",
		"title single":            "[t](https://sink.invalid 'CANARY')",
		"title paren":             "[t](https://sink.invalid (CANARY))",
		"title next line":         "[t](https://sink.invalid\n\"CANARY\")",
		"image title":             "![](https://sink.invalid \"CANARY\")",
		"text as destination":     "[t](<CANARY do it>)",
		"definition":              "[//]: # (CANARY)",
		"definition label":        "[CANARY do it]: #",
		"definition title":        "[a]\n\n[a]: /x\n  \"CANARY\n  CANARY\"",
		"label of reference":      "[t][CANARY x]\n\n[CANARY x]: /u",
		"footnote nobody uses":    "a\n\n[^x]: CANARY\n    CANARY",
		"attribute":               "<span title=\"CANARY\">x</span>",
		"attribute name":          "<span CANARY>x</span>",
		"open attribute":          "<div title=\"\n\nCANARY\n",
		"image attribute":         "<img alt='CANARY' src=a.png>",
		"fence info":              "```go CANARY\nx\n```",
		"title that ends oddly":   "[t](https://sink.invalid \"CANARY\\\")",
		"comment that ends late":  "<!--> CANARY -->",
		"bom in definition":       "\ufeff[//]: # (CANARY)",
	} {
		t.Run(name, func(t *testing.T) {
			got, n := Clean(in, "")
			if strings.Contains(got, canary) {
				t.Errorf("hidden text is left: %q", got)
			}
			if n.Total() == 0 && name != "open attribute" { // of which not even a tag is left
				t.Error("nothing was counted")
			}
		})
	}
}

// What GitHub shows, and is no markup there, is kept: a reader sees it too.
func TestCleanTextShows(t *testing.T) {
	for name, in := range map[string]string{
		"template":                  "<template>CANARY</template>",
		"entity comment":            "a &lt;!-- CANARY --&gt; b",
		"nested entity":             "a &amp;amp;amp;lt;!-- CANARY --&amp;gt; b",
		"numeric entity":            "a &#60;!-- CANARY --&#x3e; b",
		"comment made of comments":  "a <!<!-- x -->-- CANARY -->",
		"zero width in comment":     "a <\u200b!-- CANARY --> b",
		"end tag that is a comment": "<div>\n</ CANARY>\n</div>",
		"declaration":               "<!CANARY x>",
		"cdata":                     "a <![CDATA[ CANARY ]]> b",
	} {
		if got, _ := Clean(in, ""); !strings.Contains(got, "CANARY") {
			t.Errorf("%s: %q is gone from %q", name, in, got)
		}
	}
}

// GitHub's own page is what counts when there is one.
func TestCleanReadsThePage(t *testing.T) {
	got, n := Clean("CANARY <!-- x --> ![a](b)", "<p dir=\"auto\">seen <img alt=\"CANARY\"></p>")
	if got != "seen [image]" || n.Comments != 1 || n.AltTexts != 1 {
		t.Errorf("read %q, and counted %+v", got, n)
	}
	if links := Links("[a](/b)", `<a href="#c">c</a> <a href="https://go.dev">d</a>`); len(links) != 1 || links[0] != "https://go.dev" {
		t.Errorf("the links are %q", links)
	}
}

// Pages as GitHub makes them, with what it adds of its own.
func TestReadPages(t *testing.T) {
	for page, want := range map[string]string{
		`<p dir="auto">a<br>` + "\n" + `<strong>b</strong> <code class="notranslate">c d</code></p>`:                                                                                                                                                                              "a\n**b** `c d`",
		`<div class="highlight highlight-source-shell notranslate" data-snippet-clipboard-copy-content="x"><pre>ls <span class="pl-k">-l</span></pre></div><p>a</p>`:                                                                                                              "```shell\nls -l\n```\n\na",
		`<div class="highlight highlight-text-html-basic"><pre>&lt;b&gt;</pre></div>`:                                                                                                                                                                                             "```html\n<b>\n```",
		`<pre lang="nosuch" class="notranslate"><code class="notranslate">x` + "\n" + `</code></pre>`:                                                                                                                                                                             "```\nx\n```",
		`<blockquote><p>a</p><pre><code>b` + "\n\n" + `c</code></pre></blockquote><p>d</p>`:                                                                                                                                                                                       "> a\n>\n> ```\n> b\n> \n> c\n> ```\n\nd",
		`<ul class="contains-task-list"><li class="task-list-item"><input type="checkbox" id="" disabled="" class="task-list-item-checkbox" checked=""> a</li></ul>`:                                                                                                              "- [x] a",
		`<table role="table"><thead><tr><th>a</th><th align="right">b</th></tr></thead><tbody><tr><td>1</td><td align="right">2</td></tr></tbody></table>`:                                                                                                                        "| a | b |\n|---|---|\n| 1 | 2 |",
		`<p>thanks <a class="user-mention notranslate" href="https://github.com/kim">@kim</a>, <a class="issue-link" href="https://github.com/o/r/issues/1">#1</a></p>`:                                                                                                           "thanks @kim, #1",
		`<p>a<sup><a href="#user-content-fn-1" data-footnote-ref="">1</a></sup></p><section data-footnotes="" class="footnotes"><h2 class="sr-only">Footnotes</h2><ol><li><p>b <a href="#x" data-footnote-backref="" class="data-footnote-backref">↩</a></p></li></ol></section>`: "a1\n\n1. b",
		`<div class="email-fragment">hi</div><span class="email-hidden-toggle"><a href="#">…</a></span><div class="email-hidden-reply" style="display: none;"><div class="email-quoted-reply">old</div></div>`:                                                                    "hi\n…\n\n[collapsed text]\n\n> old\n\n[end of the collapsed text]",
		`<details><summary>Log</summary><p>x</p></details><details open=""><summary>y</summary></details>`:                                                                                                                                                                        "[collapsed text]\nLog\n\nx\n\n[end of the collapsed text]\n\ny",
		`<div class="markdown-heading"><h2 class="heading-element">A</h2><a class="anchor" aria-label="Permalink: A" href="#a"><svg><title>x</title></svg></a></div><p>b</p>`:                                                                                                     "## A\n\nb",
		`<b>a<p>b</b>c</p>`: "**a**\n\nbc",
	} {
		if got := readPage(page).text; got != want {
			t.Errorf("%s\nis read as\n%q, want\n%q", page, got, want)
		}
	}
}

// Lines of paragraphs are found as GitHub shows them, and nothing else.
func TestMarkLines(t *testing.T) {
	begins := func(line string) int {
		word := strings.TrimLeft(line, " ")
		if !strings.HasPrefix(word, "/agent") && !strings.HasPrefix(word, "@bot") {
			return 0
		}
		return len(line) - len(word) + len(strings.Fields(word)[0])
	}
	for page, want := range map[string]string{
		"<p dir=\"auto\">/agent a<br>\n b<br>\n/agent c</p><p>x\n /agent d</p>":           "M a\nb\nM c\n\nx\nM d",
		`<p><a class="user-mention" href="/bot">@bot</a>[x] a</p>`:                        "M a",
		`<p><strong>/agent</strong> a</p><p><code>x</code> /agent</p>`:                    "**/agent** a\n\n`x` /agent",
		`<blockquote><p>/agent a</p></blockquote><ul><li>/agent</li></ul><h1>/agent</h1>`: "> /agent a\n\n- /agent\n\n# /agent",
		`<details><p>/agent a</p></details><pre>/agent b</pre>`:                           "[collapsed text]\n\n/agent a\n\n[end of the collapsed text]\n\n```\n/agent b\n```",
		`<div class="email-fragment">/agent a</div><div><p>/agent b</p></div>`:            "M a\n\n/agent b",
	} {
		marked, n := MarkLines(page, begins, func(int) string { return "M" })
		if got := readPage(marked).text; got != want || n != strings.Count(want, "M") {
			t.Errorf("%s\nis marked %d times:\n%q, want\n%q", page, n, got, want)
		}
	}
}
