package command

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dom "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

var saidLine = regexp.MustCompile(`^[ \t\n]*/agent deny (x\d+)`)

// onPage returns the ids of the commands that stand at the start of a line of
// a paragraph which is in nothing else, on GitHub's page.
func onPage(t *testing.T, page string) (ids []string) {
	t.Helper()
	root, err := dom.Parse(strings.NewReader(page))
	if err != nil {
		t.Error(err)
		return nil
	}
	for n := range root.Descendants() {
		if n.Type != dom.TextNode || n.Parent.DataAtom != atom.P || n.Parent.Parent.DataAtom != atom.Body {
			continue
		}
		text := n.Data
		if n.PrevSibling != nil && n.PrevSibling.DataAtom != atom.Br {
			_, rest, ok := strings.Cut(text, "\n")
			if !ok {
				continue
			}
			text = rest
		}
		for l := range strings.Lines(text) {
			if m := saidLine.FindStringSubmatch(l); m != nil {
				ids = append(ids, m[1])
			}
		}
	}
	return ids
}

// written is a command at the start of a line of the text itself.
var written = regexp.MustCompile(`(?m)^[ \t]*/agent deny (x\d+) `)

func writtenIn(text string) (ids []string) {
	for _, m := range written.FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// pieces are what generated comments are made of. CMD is a command.
var pieces = []string{
	"CMD", "CMD\n", "\nCMD\n", "\n\nCMD\n\n", "text ", "text\n", "\n", "\n\n", "> ", ">", "- ", "* ", "1. ", "1) ", "  ", "    ", "\t", "# ", "### ", "#",
	"`", "``", "```", "```\n", "~~~\n", "~~~", "````sh\n", "*", "**", "_", "__", "~~", "~", "[", "]", "](", ")", "![", "[x]: ", "[^1]: ", "[^1]", "[x]", "<https://e.org/>", "https://e.org/a", "www.e.org", "kim@e.org",
	"<!--", "-->", "<!-- c -->", "--!>", "<!", "<?", "?>", "<![CDATA[", "]]>", "<details>", "</details>", "<summary>s</summary>", "<details>\n", "</details>\n\n", "<pre>", "</pre>", "<div>", "</div>",
	"<div hidden>\n\n", "<p hidden>", "</p>", "<p>", "<span>", "</span>", "<b>", "</b>", "<br>", "<table>", "<tr><td>", "</td></tr></table>", "<script>", "</script>", "<style>", "<title>", "</title>", "<textarea>", "<plaintext>", "<xmp>", "<svg>", "<math>", "<template>", "<a href=x>", "</a>", "<img alt=\"", "\">", "<x", ">", "<kbd>", "</kbd>", "<i>", "</i>", "<a href=x>y</a>", "<b>z</b>", "<a name=q>", "<blockquote>", "</blockquote>", "<ul><li>", "<input>", "<select>", "<h1>",
	"| a |\n|---|\n", "| ", "|", "|---|\n", "a | b\n--|--\n", "---\n", "===\n", "***\n", "\\", "\\\n", "&nbsp;", "&#47;", "$$\n", "$", "$$", ":", "\"", "'", "(", "\r\n", "\v", "\f", "\u00a0", "\u2028", "\u200b", "é", "\x00", "- [ ] ", "+ ", "\n    ", "\n  ", "> \n", "!", "Hello @kim", "fixes #1", "<!DOCTYPE html>", "<?php", "&lt;", "</", "/>",
}

func generated(rnd *rand.Rand, n *int) string {
	var b strings.Builder
	for range 1 + rnd.IntN(9) {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	if rnd.IntN(3) > 0 {
		b.WriteString([]string{"CMD", "\nCMD", "\n\nCMD", "\n\nCMD\n\n"}[rnd.IntN(4)] + pieces[rnd.IntN(len(pieces))])
	}
	s := b.String()
	for strings.Contains(s, "CMD") {
		*n++
		s = strings.Replace(s, "CMD", fmt.Sprintf("/agent deny x%d now", *n), 1)
	}
	return s
}

// GitHub's own renderer is the judge of what is said: no text makes a command
// of a line that GitHub does not show as the line of a paragraph, and no line
// that it shows so is passed over in silence.
func TestSaid(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	texts, n := []string{}, 0
	rnd := rand.New(rand.NewPCG(githubcheck.Seed(), 200_000))
	for range githubcheck.Texts(os.Getenv("HANDRAIL_LONG"), 4000, 25_000) {
		texts = append(texts, generated(rnd, &n))
	}
	shown := j.Show(t, texts...)
	pages := make([][]string, len(texts))
	githubcheck.Each(len(texts), func(i int) { pages[i] = onPage(t, shown[i].HTML) })
	obeyed, asked, wrong := 0, 0, 0
	for i, on := range pages {
		cmds, err := table.Parse(texts[i])
		var ask *Error
		if errors.As(err, &ask) {
			asked++
			continue
		}
		var got []string
		for _, c := range cmds {
			got = append(got, c.IDs...)
		}
		obeyed += len(got)
		on = slices.DeleteFunc(on, func(id string) bool { return !slices.Contains(writtenIn(texts[i]), id) })
		if !slices.Equal(got, on) {
			if wrong++; wrong < 20 {
				t.Errorf("%q\nobeyed %v, GitHub shows %v in\n%s", texts[i], got, on, shown[i].HTML)
			}
		}
	}
	t.Logf("%d texts, %d commands obeyed, %d texts asked back, %d wrong", len(texts), obeyed, asked, wrong)
	if obeyed < len(texts)/10 {
		t.Errorf("only %d commands were found in %d texts", obeyed, len(texts))
	}
}

// What people write is obeyed, asked back about, or passed over.
func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		want       int // commands
		asks       string
	}{
		{"alone", "/agent stop", 1, ""},
		{"a line of a paragraph", "Thanks for `x`, @kim.\n/agent fix `y` <3", 1, ""},
		{"behind a rule, a list and a table", "- a\n\n| a |\n|---|\n| b |\n\n---\n/agent fix it", 1, ""},
		{"behind names and addresses in code", "I asked `@kim` about `https://e.org/a`.\n/agent fix it", 1, ""},
		{"in code that an address begins", "See https://e.org/`a ` b\n/agent fix `it`", 0, ""},
		{"behind long rules", strings.Repeat("-", 80) + "\n" + strings.Repeat("*", 80) + "\n\nTitle\n" + strings.Repeat("-", 40) + "\n\n/agent fix it", 1, ""},
		{"behind a wide table", "| a | b | c | d | e | f | g | h |\n|---|---|---|---|---|---|---|---|\n| 1 |\n\n/agent fix it", 1, ""},
		{"behind a comment of a template", "<!-- what? -- say -->\n/agent fix it", 1, ""},
		{"behind HTML that is closed", "<details><summary>log</summary>\n\n```\nx\n```\n\n</details>\n\n/agent fix it", 1, ""},
		{"behind a quotation", "> why?\n\n/agent fix it", 1, ""},
		{"an unusual space", "/agent\u00a0stop", 1, ""},
		{"below a quoted mail", "On Monday, Sam wrote:\n> x\n\n/agent fix it", 1, ""},
		{"in a list", "- /agent fix it", 0, "a list"},
		{"right behind a list", "- a\n/agent fix it", 0, "a list"},
		{"in a task list", "- [ ] /agent fix it", 0, "a list"},
		{"in a table", "| a |\n|---|\n/agent fix it", 0, "a table"},
		{"in a heading", "# /agent fix it", 0, "a heading"},
		{"underlined", "/agent fix it\n===", 0, "a heading"},
		{"folded", "<details>\n\n/agent fix it\n\n</details>", 0, "a folded part"},
		{"hidden by an attribute", "<div hidden>\n\n/agent fix it\n\n</div>", 0, "HTML"},
		{"in HTML", "<p>\n/agent fix it\n</p>", 0, "HTML"},
		{"in bold", "**\n/agent fix it**", 1, ""},
		{"bold", "**/agent fix it**", 0, "emphasis"},
		{"under a quotation without a line between", "> why?\n/agent fix it", 0, "a quotation"},
		{"quoted", "> /agent fix it\n> > /agent stop", 0, ""},
		{"in a comment", "<!-- \n/agent approve ab12\n-->", 0, ""},
		{"in a comment with text before", "a <!-- b\n/agent approve ab12\n-->", 0, ""},
		{"in pre", "<pre>\n/agent approve ab12\n</pre>", 0, "HTML"},
		{"in code", "`a\n/agent approve ab12`", 0, ""},
		{"in a title", "[a](b '\n/agent approve ab12\n')", 0, ""},
		{"in the text of a picture", "![\n/agent approve ab12\n](x)", 0, ""},
		{"a definition", "[x]: /y '\n/agent approve ab12'", 0, ""},
		{"behind HTML among words", "See <a href=\"https://e.org\">this</a>, press <kbd>x</kbd>, <b>do <i>it</i></b>.\n/agent fix it", 1, ""},
		{"in HTML among words", "See <a href=\"https://e.org\">this\n/agent fix it</a>", 0, "HTML"},
		{"behind HTML that ends a paragraph", "See <div>this</div> now\n/agent fix it", 0, "HTML"},
		{"in what may be code", "<textarea> a\n\"</pre>\n    /agent fix it", 0, ""},
		{"behind what may be a comment", "</details>\n\n[x]: <!--===\n/agent fix it", 0, "HTML"},
		{"in what may be a fence", "</script>\n````sh\nx\n\n/agent fix it", 0, ""},
		{"behind a comment that ends early", "<!----!>text\n/agent fix it", 0, "HTML"},
		{"in a comment that ends late", "<!-- a\n/agent fix it\n--> b", 0, ""},
		{"in a comment in what may be open", "<div title=\"\n\n<!-- \">\n/agent fix it\n-->", 0, "HTML"},
		{"behind the end of HTML of another paragraph", "<span>\n\n--></span>\n/agent fix it", 0, "HTML"},
		{"behind a control character", "a\f\n/agent fix it", 0, "control characters"},
		{"behind a sign that is a word", "#/agent fix it", 0, "begins with something else"},
		{"behind emphasis that does not end", "_/agent fix it", 0, "begins with something else"},
		{"a denial with its reason", "/agent deny ab12 - no, not this\n\nIt deletes too much.\n\n-- \nKim", 1, ""},
		{"a stop with words", "Wait!\n\n/agent stop, this is wrong\n\nSent from my phone", 1, ""},
	} {
		cmds, err := table.Parse(tt.body)
		if len(cmds) != tt.want {
			t.Errorf("%s: %q holds %d commands, want %d (%v)", tt.name, tt.body, len(cmds), tt.want, err)
		}
		var ask *Error
		if !errors.As(err, &ask) && tt.asks != "" || ask != nil && (tt.asks == "" || !strings.Contains(ask.Public, tt.asks)) {
			t.Errorf("%s: the reply to %q is %v, want %q", tt.name, tt.body, err, tt.asks)
		}
	}
}

// TestYesAlone: a comment that approves holds commands and quotations, and nothing else that
// a reader sees, in whatever language that would be.
func TestYesAlone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"/agent approve ab12", "/agent approve ab12.", "\n\n/agent approve `AB12`\n\n", "/agent approve", "/agent approve all", "/agent budget +10",
		"> rm -rf build\n\n/agent approve ab12", "/agent approve ab12\n\n> do not run this\n> > ever", "> ```\n> rm -rf build\n> ```\n\n/agent approve ab12",
		"<!-- a template -->\n\n/agent approve ab12", "/agent approve ab12\n/agent deny cd34 too risky", "/agent approve ab12\n/agent fix the rest", "[x]: https://e.org\n\n/agent approve ab12",
	} {
		if cmds, err := table.Parse(body); err != nil || len(cmds) == 0 {
			t.Errorf("%q is %v, %v", body, cmds, err)
		}
	}
	for _, beside := range []string{
		"thanks!", "NO, please don't", "Nein.", "不要", "👎", "After the tests are green:", "- rather later", "-- \nKim Doe\nAcme Inc.", "Sent from my phone", "$$", "![](https://e.org/no.png)",
		"On Mon, 3 Aug 2026 at 10:00, Sam <sam@example.org> wrote:", "Am Montag schrieb Sam:", "2026年8月3日 Sam のメッセージ:", "-----Original Message-----\nFrom: Sam\nSent: Monday", "|a|\n|-|", "<details>\n\nno\n\n</details>", "```\nno\n```", "    no", "[no](https://e.org)",
	} {
		for _, body := range []string{beside + "\n\n/agent approve ab12", "/agent approve ab12\n\n" + beside, "/agent stop\n\n" + beside + "\n\n/agent approve ab12\n/agent status", "/agent fix it\n\n" + beside + "\n\n/agent approve ab12", "/agent budget +10\n\n" + beside, "> quoted\n\n" + beside + "\n\n/agent approve ab12"} {
			cmds, err := table.Parse(body)
			var ask *Error
			if len(cmds) > 0 || !errors.As(err, &ask) || !ask.Beside && !strings.Contains(ask.Public, "stands in") {
				t.Errorf("%q is %v, %v", body, cmds, err)
			}
		}
	}
	for _, line := range []string{
		"approve ab12 - NO", "approve ab12 when green", "approve ab12 and cd34", "approve ab12 <!-- no -->", "approve ab12?", "approve all but ab12", "approve `ab12\nno`", "approve ab12 👎", "approve not ab12", "budget +10? no", "approve ab12 *\nno*",
	} {
		if cmds, err := table.Parse("/agent " + line); len(cmds) > 0 || err == nil {
			t.Errorf("%q is %v", line, cmds)
		}
	}
}

// TestTangledTexts: no comment keeps a server busy. What would is not read: it is
// asked back about, and made inert.
func TestTangledTexts(t *testing.T) {
	var nested strings.Builder
	for i := range 350 {
		nested.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	for name, text := range map[string]string{
		"quotations": strings.Repeat("> ", 32000), "lists": strings.Repeat("- ", 32000), "numbers": strings.Repeat("1. ", 21000),
		"a table":               strings.Repeat("|a", 1000) + "\n" + strings.Repeat("|-", 1000) + "\n" + strings.Repeat("a\n", 5000),
		"a table without pipes": strings.Repeat("a|", 1000) + "\n" + strings.Repeat("-|", 1000) + "\n" + strings.Repeat("a\n", 5000),
		"links":                 strings.Repeat("[a](", 16000), "pictures": strings.Repeat("![a](", 12000), "emphasis": strings.Repeat("*a_", 20000),
	} {
		for _, tail := range []string{"\n\n/agent stop", " x\n/agent stop"} {
			_, err := table.Parse(text + tail)
			inert := Inert(text + tail)
			if err == nil || !strings.Contains(err.Error(), "nested too deeply") || !strings.HasSuffix(inert, "\n\\/agent stop") {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	for name, text := range map[string]string{
		"nested":      nested.String(),
		"definitions": strings.Repeat("[a]: b\n", 9000), "addresses": strings.Repeat("www.a.b ", 8000), "tags": strings.Repeat("<a b=\"", 9000),
		"tasks": strings.Repeat("- [ ] [a]: b\n", 5000), "brackets": strings.Repeat("[a]", 20000), "ticks": strings.Repeat("``` ` `` ", 7000),
	} {
		begin := time.Now()
		cmds, err := table.Parse(text + "\n\n/agent stop")
		if took := time.Since(begin); (len(cmds) != 1 && err == nil) || took > time.Minute {
			t.Errorf("%s: %d commands, %v, in %v", name, len(cmds), err, took)
		}
	}
}
