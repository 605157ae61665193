package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// blocks is the skeleton of a Markdown text: the kinds of its blocks, and the texts of
// its headings.
func blocks(md string) []string {
	src := []byte(md)
	var out []string
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	_ = ast.Walk(doc, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if !in || n.Type() == ast.TypeInline {
			return ast.WalkContinue, nil
		}
		kind := n.Kind().String()
		if kind == "TextBlock" {
			kind = "Paragraph"
		}
		out = append(out, kind)
		return ast.WalkContinue, nil
	})
	return out
}

// What a request says for a reason, and what a step, a choice or a file is called,
// begins no heading, list or other block in the voice of the bot: the text has the
// blocks that it has with a plain word in its place.
func TestWordsMakeNoBlocks(t *testing.T) {
	longtest.Leave(t)
	texts := func(s string) map[string]string {
		asked := session.Asked{ID: "abcd2345", Tool: "write_file", Paths: []string{s}, Display: "x", Reasons: []string{s + " is a sensitive file (**/secrets/**)"}, Review: &session.Review{Base: "main"}}
		question := session.Asked{ID: "abcd2345", Kind: session.AskQuestion, Display: "Which?", Choices: []string{s}}
		v := session.NewState()
		v.Files = []session.FileChange{{Path: s, Kind: session.ChangeCreate}}
		v.LeftOut = []session.LeftOut{{Path: s, Why: s}}
		v.Todo = []session.Todo{{Text: s}}
		v.Timeline = []session.Moment{&session.Answer{Content: s}, &session.Message{Author: "you", Text: s}, &session.ToolRun{Title: s}}
		return map[string]string{
			"approval": untrusted.OutputOptions{}.Post(untrusted.Post{Text: Approval(asked, "you")}),
			"review":   untrusted.OutputOptions{}.Post(untrusted.Post{Text: ReviewBody(asked, "you", 1)}),
			"notice":   posted(ReviewNotice(asked, 2, "you")),
			"question": untrusted.OutputOptions{}.Post(untrusted.Post{Text: Approval(question, "you")}),
			"progress": posted(Progress(v, Links{})),
			"settled":  posted(Requests([]Request{{Request: &session.Request{Asked: asked, Answer: &session.Resolved{Verdict: policy.Denied, By: "you"}}}}, "you")),
		}
	}
	plain := texts("plain")
	for _, mark := range []string{"### Checked by a person", "# x", "> x", "> [!NOTE] x", "- x", "* x", "+ x", "1. x", "7) x", "```", "~~~", "***", "---", "* * *", "___", "| a | b |", "[a]: b", "    x", "<!-- x", "<details>", "===", ":-:"} {
		for _, before := range []string{"", "secrets/a\n\n", "secrets/a\r\r", "secrets/a\u2028\u2028", "secrets/a\v\n"} {
			for _, after := range []string{"", "\n\n- x", "\r\n---\r\n"} {
				s := before + mark + after
				for what, md := range texts(s) {
					if got, want := blocks(md), blocks(plain[what]); !slices.Equal(got, want) {
						t.Errorf("%s with %q has the blocks %s, not %s:\n%s", what, s, strings.Join(got, " "), strings.Join(want, " "), md)
					}
				}
			}
		}
	}
}
