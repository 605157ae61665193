package ghapp

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// outgoing is w with every text as it may stand on GitHub: without secrets, cut to the
// length that GitHub takes, and last made inert. Nothing is done to a text behind this.
// It is asked before a write is performed and before it is looked for, so both see the
// same text.
func (c *Client) outgoing(w Write) Write {
	g := gate{secrets: c.app.cfg.Clean, to: untrusted.OutputOptions{Repo: c.owner + "/" + c.repo, Home: c.app.site.repository(c.owner, c.repo), Inert: c.app.cfg.Inert}}
	w.Title = g.title(w.Title)
	if w.Kind != WriteReaction {
		w.Body = g.post(untrusted.Post{Mentions: w.Mentions, Text: w.Body, Folds: w.Folds})
		w.Mentions, w.Folds = nil, nil
	}
	if w.Pull != nil {
		p := *w.Pull
		p.Title, p.Body, p.Closes = g.title(p.Title), g.body(p.Body, p.Closes), 0
		w.Pull = &p
	}
	if w.Review != nil {
		r := *w.Review
		r.Body = g.body(r.Body, 0)
		r.Comments = append([]Inline(nil), r.Comments...)
		for i := range r.Comments {
			r.Comments[i].Body = g.inline(r.Comments[i].Body) //control:github-gate-inline
		}
		w.Review = &r
	}
	if w.Check != nil {
		k := *w.Check
		k.Name, k.Title = g.title(k.Name), g.title(k.Title)
		k.Summary, k.Text = g.body(k.Summary, 0), g.body(k.Text, 0)
		k.Notes = g.notes(k.Notes)
		w.Check = &k
	}
	return w
}

// gate is what every text passes on its way out.
type gate struct {
	secrets func(string) string // nil for none
	to      untrusted.OutputOptions
}

func (g gate) clean(s string) string {
	if g.secrets == nil {
		return s
	}
	return g.secrets(s)
}

func (g gate) title(s string) string { return untrusted.Title(g.clean(s)) } //control:post-title

// body is a whole Markdown text.
func (g gate) body(s string, closes int) string {
	return g.post(untrusted.Post{Text: s, Closes: closes})
}

// notes are annotations, whose texts are no Markdown.
func (g gate) notes(list []Annotation) []Annotation {
	list = slices.Clone(list)
	for i, n := range list {
		text, _ := untrusted.CleanPlain(g.clean(n.Text))
		list[i].Title, list[i].Text = g.title(n.Title), text //control:github-gate-notes
	}
	return list
}

// suggested is the block at the end of a comment that a person can commit.
var suggested = pattern.Lazy("(?s)(?:^|\n)(````*)suggestion\n.*\n?````*\\s*$")

// inline is a comment on lines of a diff. What a person could commit from it is what was
// written, or it cannot be committed: a cleaned line of code is another line.
func (g gate) inline(s string) string {
	out := g.body(s, 0)
	block := strings.TrimSpace(suggested().FindString(s))
	if block == "" || strings.HasSuffix(strings.TrimSpace(out), block) { //control:suggestion-as-written
		return out
	}
	if at := strings.LastIndex(out, "```suggestion\n"); at >= 0 {
		out = out[:at+3] + "text" + out[at+len("```suggestion"):]
	}
	return out
}

// post is a text with what only the bot itself may say.
func (g gate) post(p untrusted.Post) string {
	p.Text = g.clean(p.Text)
	p.Folds = slices.Clone(p.Folds)
	for i, f := range p.Folds {
		p.Folds[i] = untrusted.Fold{Title: g.clean(f.Title), Text: g.clean(f.Text)}
	}
	return g.to.Post(p) //control:post-gate
}
