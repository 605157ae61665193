package untrusted

import (
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// effects returns what of a rendered text GitHub or a runner would act on.
func effects(s string) []string {
	var out []string
	src := []byte(s)
	doc := goldmark.DefaultParser().Parse(text.NewReader(src))
	var prose strings.Builder
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.FencedCodeBlock, *ast.CodeBlock:
			prose.WriteString(" x ")
			return ast.WalkSkipChildren, nil
		case *ast.Image:
			out = append(out, "image "+string(n.Destination))
		case *ast.HTMLBlock, *ast.RawHTML:
			out = append(out, "html")
		case *ast.Text:
			prose.Write(n.Segment.Value(src))
			if n.SoftLineBreak() {
				prose.WriteByte('\n')
			}
		default:
			if n.Type() == ast.TypeBlock {
				prose.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	plain := regexp.MustCompile(`https?://\S+`).ReplaceAllString(prose.String(), "")
	for _, re := range []string{`(?:^|[^\w/.=-])@[A-Za-z0-9]`, `[\w.-]+/[\w.-]+#\d`} {
		out = append(out, regexp.MustCompile(re).FindAllString(plain, -1)...)
	}
	for _, re := range []string{`(?m)^\s*::[\w-]+::`, `##\[`, `(?m)^/[A-Za-z][\w-]*(?:\s|$)`, "\x1b", "\u202e", "\u200b"} {
		out = append(out, regexp.MustCompile(re).FindAllString(s, -1)...)
	}
	return out
}

func TestCleanOutputHasNoEffect(t *testing.T) {
	for name, in := range map[string]string{
		"mention":                "thanks @octocat and @org/team",
		"mention at start":       "@octocat hi",
		"mention after code":     "`a`@octocat",
		"mention before code":    "@octocat`a`",
		"mention in emphasis":    "**@octocat** _@octocat_",
		"mention in heading":     "# @octocat",
		"mention in link":        "[@octocat](https://example.org)",
		"mention by entity":      "&#64;octocat &commat;octocat",
		"mention escaped":        `\@octocat \\@octocat`,
		"stray backtick":         "a ` b @octocat",
		"stray backticks":        "`` ` @octocat ``` @octocat",
		"mention in quote":       "> @octocat\n>> @octocat",
		"mention in list":        "- @octocat\n1. @octocat",
		"mention in html":        "<div>@octocat</div>\n\n<p>\n`@octocat`\n</p>",
		"html script":            "<script>alert(1)</script>",
		"html comment":           "a <!-- @octocat -->",
		"html image":             "<img src=\"https://sink.invalid/x\">",
		"image":                  "![x](https://sink.invalid/?q=1)",
		"image twice":            "!![x](https://sink.invalid/?q=1)",
		"image by reference":     "![x][y]\n\n[y]: https://sink.invalid",
		"slash command":          "/agent approve 7",
		"slash in quote":         "> /agent approve 7",
		"slash in code":          "```\n/agent approve 7\n```",
		"runner command":         "::set-output name=a::b",
		"runner command in code": "```\n  ::error::x\n##[group]x\n```",
		"old runner command":     "a ##[error]x",
		"other repository":       "see other/repo#12",
		"other address":          "see https://github.com/other/repo/issues/12",
		"terminal":               "\x1b[31m@octocat\x1b[0m",
		"bidi":                   "a \u202e b \u200b @\u200boctocat",
		"open fence":             "```go\nx",
		"open fence in list":     "- ```\n  x",
		"tilde fence":            "~~~\n@octocat\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := CleanOutput(in, OutputOptions{Repo: "me/mine"})
			if e := effects(got); len(e) > 0 {
				t.Errorf("CleanOutput(%q) = %q still has effects: %q", in, got, e)
			}
			if again := CleanOutput(got, OutputOptions{Repo: "me/mine"}); again != got {
				t.Errorf("not stable: %q then %q", got, again)
			}
			doc := goldmark.DefaultParser().Parse(text.NewReader([]byte(got + "\n\nx")))
			if last := doc.LastChild(); last.Kind() != ast.KindParagraph {
				t.Errorf("text behind %q would be code", got)
			}
		})
	}
}

func TestCleanOutputKeeps(t *testing.T) {
	o := OutputOptions{Repo: "me/mine", Home: "https://github.com/me/mine"}
	for name, in := range map[string]string{
		"prose":            "It works. See #12 and me/mine#3.",
		"code":             "```go\n@Override\n<b>x</b>\n```\n",
		"code span":        "use `@Override` and `<T>`",
		"link to a commit": "[`0123abc`](https://github.com/me/mine/commit/0123abcdef)",
		"autolink":         "<https://example.org>",
		"email":            "write to a@example.org",
		"comparison":       "a < b && c > d",
		"own address":      "https://github.com/me/mine/pull/3",
		"path in code":     "```\n/usr/bin/env\n```\n",
		"emoji":            "done 👩‍🔧 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
		"suggestion":       "```suggestion\nx := std::string{}\n```\n",
		"right to left":    "שלום עולם",
		"table":            "| a | b |\n|---|---|\n| 1 | `@x` |\n",
		"escaped already":  "\\/agent and \\:: and `@octocat`",
	} {
		t.Run(name, func(t *testing.T) {
			if got := CleanOutput(in, o); got != in {
				t.Errorf("CleanOutput changed %q to %q", in, got)
			}
		})
	}
}

func TestCleanOutputClosingKeywords(t *testing.T) {
	for in, want := range map[string]string{
		"Fixes #12":                                 "Fixes `#12`",
		"Fixes other/repo#12":                       "Fixes `other/repo#12`",
		"**Closes**: me/mine#12, resolved GH-3":     "**Closes**: `me/mine#12`, resolved `GH-3`",
		"it closes\n#12":                            "it closes\n`#12`",
		"close <https://github.com/me/mine/pull/4>": "close `https://github.com/me/mine/pull/4`",
		"close https://github.com/me/mine/pull/4":   "close `https://github.com/me/mine/pull/4`",
		"fix&#101;s &#35;1":                         "fixes `#1`",
		"fixes #**1**":                              "fixes # **1**",
		"`git commit -m 'Fixes #1'`":                "`git commit -m 'Fixes # 1'`",
		"fixes the bug in #1":                       "fixes the bug in #1",
	} {
		if got := CleanOutput(in, OutputOptions{Repo: "me/mine"}); got != want {
			t.Errorf("CleanOutput(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCleanOutput(f *testing.F) {
	for _, s := range []string{"@a", "`@a", "~~~\n@a", "<a @b>", "![x](y)", "\\@a", "&#64;a", "a/b#1", "- ```\n@a", "/x\n::y::", "`a`@b`", "!\\[x](y)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 2000 {
			return
		}
		got := CleanOutput(s, OutputOptions{Repo: "me/mine"})
		if again := CleanOutput(got, OutputOptions{Repo: "me/mine"}); again != got {
			t.Fatalf("not stable: %q -> %q -> %q", s, got, again)
		}
		if e := effects(got); len(e) > 0 {
			t.Fatalf("CleanOutput(%q) = %q has effects %q", s, got, e)
		}
	})
}

func TestNoRunnerCommands(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                    "plain",
		"a::b":                     "a::b",
		"::set-output name=a::b":   `\::set-output name=a::b`,
		"x\n  ::warning::y\n::z":   "x\n  \\::warning::y\n\\::z",
		"x\r::add-mask::y":         "x\r\\::add-mask::y",
		"a ##[set-output name=a]b": "a ## [set-output name=a]b",
		"x\n\u00a0\u3000::y":       "x\n\u00a0\u3000\\::y",
	} {
		got := NoRunnerCommands(in)
		if got != want {
			t.Errorf("NoRunnerCommands(%q) = %q, want %q", in, got, want)
		}
		if again := NoRunnerCommands(got); again != got {
			t.Errorf("a second time changes %q to %q", got, again)
		}
	}
}

// TestPostedThreads: only the bot itself links threads of other repositories, by their names.
func TestPostedThreads(t *testing.T) {
	o := OutputOptions{Repo: "me/mine", Home: "https://github.com/me/mine"}
	got := o.Post(Post{Text: "Done, as in team/lib#1.", Closes: 7, With: []string{
		"team/lib#12", "@kim#2", "team/lib#0", "team/lib", "team/app#2 closes #3", "a/b#1\n@kim", "team/app#3",
	}})
	text, ok := strings.CutSuffix(got, "\n\nFixes #7\n\nBelongs with team/lib#12, team/app#3.")
	if !ok || strings.Contains(text, " team/lib#1.") {
		t.Errorf("it is posted as %q", got)
	}
	if got := o.Post(Post{Text: "Done.", With: []string{"@kim"}}); got != "Done." {
		t.Errorf("without a thread it is %q", got)
	}
}
