package ghapp

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// outgoing returns w with every text made safe for GitHub: secrets removed, cut to
// GitHub's limits, and finally neutralized. No later step changes a text. Perform and
// Find both call it, so they see the same text.
func (c *Client) outgoing(w Write) Write {
	g := gate{
		secrets: c.app.cfg.Clean,
		to: untrusted.OutputOptions{
			Repo:  c.owner + "/" + c.repo,
			Home:  c.app.site.repository(c.owner, c.repo),
			Inert: c.app.cfg.Inert,
		},
	}
	w.Title = g.title(w.Title)
	whom := w.Mentions
	if w.Kind != WriteReaction && w.Kind != WriteReview {
		w.Body = g.post(untrusted.Post{Mentions: whom, Text: w.Body, With: w.With, Folds: w.Folds})
		w.Mentions, w.With, w.Folds = nil, nil, nil
	}
	if w.Pull != nil {
		p := *w.Pull
		p.Title = g.title(p.Title)
		p.Body = g.post(untrusted.Post{Text: p.Body, Closes: p.Closes, With: p.With, Folds: p.Folds})
		p.Closes, p.With, p.Folds = 0, nil, nil
		w.Pull = &p
	}
	if w.Review != nil {
		r := *w.Review
		r.Body = g.post(untrusted.Post{Mentions: whom, Text: r.Body})
		w.Mentions = nil
		r.Comments = append([]Inline(nil), r.Comments...)
		for i := range r.Comments {
			r.Comments[i].Body = g.inline(r.Comments[i].Body) //control:github-gate-inline
		}
		w.Review = &r
	}
	if w.Check != nil {
		k := *w.Check
		k.Name, k.Title = g.title(k.Name), g.title(k.Title)
		k.Summary, k.Text = g.body(k.Summary), g.body(k.Text)
		k.Notes = g.notes(k.Notes)
		w.Check = &k
	}
	return w
}

// gate filters every outgoing text.
type gate struct {
	secrets func(string) string // redacts secrets; nil disables it
	to      untrusted.OutputOptions
}

func (g gate) clean(s string) string {
	if g.secrets == nil {
		return s
	}
	return g.secrets(s)
}

func (g gate) title(s string) string { return untrusted.Title(g.clean(s)) } //control:post-title

// body filters a Markdown text.
func (g gate) body(s string) string { return g.post(untrusted.Post{Text: s}) }

// notes filters annotations, whose texts are plain text.
func (g gate) notes(list []Annotation) []Annotation {
	list = slices.Clone(list)
	for i, n := range list {
		text, _ := untrusted.CleanPlain(g.clean(n.Text))
		list[i].Title, list[i].Text = g.title(n.Title), text //control:github-gate-notes
	}
	return list
}

// suggestionRE matches a suggestion block, which a reader can commit, at the end of a
// comment.
var suggestionRE = pattern.Lazy("(?s)(?:^|\n)(````*)suggestion\n.*\n?````*\\s*$")

// inline filters a comment on lines of a diff. If filtering changed its suggestion, the
// block loses its commit button: a filtered line of code is a different line.
func (g gate) inline(s string) string {
	out := g.body(s)
	block := strings.TrimSpace(suggestionRE().FindString(s))
	if block == "" || strings.HasSuffix(strings.TrimSpace(out), block) { //control:suggestion-as-written
		return out
	}
	if at := strings.LastIndex(out, "```suggestion\n"); at >= 0 {
		out = out[:at+3] + "text" + out[at+len("```suggestion"):]
	}
	return out
}

// post filters a text with mentions and folds, which only the bot itself may set.
func (g gate) post(p untrusted.Post) string {
	p.Text = g.clean(p.Text)
	p.Folds = slices.Clone(p.Folds)
	for i, f := range p.Folds {
		p.Folds[i] = untrusted.Fold{Title: g.clean(f.Title), Text: g.clean(f.Text)}
	}
	return g.to.Post(p) //control:post-gate
}
