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
		"bom in definition":       "\ufeff[//]: # (CANARY)",
	} {
		t.Run(name, func(t *testing.T) {
			got, n := Clean(in)
			if strings.Contains(got, canary) {
				t.Errorf("hidden text is left: %q", got)
			}
			if n.Total() == 0 {
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
		if got, _ := Clean(in); !strings.Contains(got, "CANARY") {
			t.Errorf("%s: %q is gone from %q", name, in, got)
		}
	}
}
