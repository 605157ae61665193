package ghapp_test

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
)

// Every text that the model may be given comes with the HTML that GitHub makes of it.
func TestTextsComeWithHTML(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	const text, page = "**bold** <!-- hidden -->", "<strong>bold</strong>"
	said, err := w.gh.OpenIssue(repo, "kim", "t", text)
	must(t, err)
	comment, err := w.gh.Comment(said, "kim", text)
	must(t, err)
	_, err = w.gh.Review(w.pull, "max", ghcheck.NewReview{Event: "COMMENT", Body: text, Comments: []ghcheck.Inline{{Path: "src/a.go", Line: 3, Body: text}}})
	must(t, err)

	is, err := w.client.Issue(ctx, said)
	must(t, err)
	reviews, err := w.client.ListReviews(ctx, w.pull)
	must(t, err)
	lines, err := w.client.ListDiffComments(ctx, w.pull)
	must(t, err)
	threads, err := reads.ReviewThreads(ctx, w.client, w.pull, 9)
	must(t, err)
	comments, err := reads.Comments(ctx, w.client, said, reads.Window{Max: 9})
	must(t, err)
	one, err := w.client.CurrentText(ctx, ghapp.Text{Thread: said, Target: ghapp.Target{Comment: comment.ID}})
	must(t, err)
	onLine, err := w.client.CurrentText(ctx, ghapp.Text{Thread: w.pull, Target: ghapp.Target{Comment: lines[0].ID, Diff: true}})
	must(t, err)
	for what, html := range map[string]string{
		"issue":             is.HTML,
		"review":            reviews[0].HTML,
		"comment on a line": lines[0].HTML,
		"review thread":     threads.List[0].Comments[0].HTML,
		"comment":           comments.List[0].HTML,
		"one comment":       one.HTMLFor(text),
		"one line":          onLine.HTMLFor(text),
	} {
		if !strings.Contains(html, page) || strings.Contains(html, "hidden") {
			t.Errorf("the HTML of the %s is %q", what, html)
		}
	}
}

// HTML belongs to one version of a text.
func TestHTMLOfTheText(t *testing.T) {
	t.Parallel()
	s := ghapp.Said{Body: "a\r\nb\n", HTML: "<p>a</p>"}
	for body, want := range map[string]string{"a\nb": s.HTML, "a\r\nb\r\n": s.HTML, "a b": "", "": ""} {
		if got := s.HTMLFor(body); got != want {
			t.Errorf("the HTML of %q is %q", body, got)
		}
	}
}
