package pull

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// maxTitle is GitHub's maximum length of a title, in characters.
const maxTitle = 256

// spec returns the desired pull request. Its text follows the configured template, the
// repository's template, or else ours.
func (s *Session) spec(ctx context.Context, v *session.State, to, before string) (*ghapp.PullSpec, error) {
	issue, err := s.Client.Issue(ctx, s.Thread)
	if err != nil {
		return nil, err
	}
	heading, _ := untrusted.CleanPlain(issue.Title) // plain text: titles are not rendered
	from := render.Origin{Number: s.Thread.Number, Pull: s.Pull != nil}
	switch {
	case from.Pull && s.Pull.Fork:
		from.Fork = v.Task.Base
	case from.Pull && v.Task.Branch != s.Pull.Head && s.Pull.State == "open":
		from.Beside = s.Pull.Head
	}
	set := s.Config.PullRequest
	out := &ghapp.PullSpec{
		Base:   to,
		Head:   v.Branch,
		Title:  cmp.Or(titleOf(v), render.PullTitle(strings.TrimSpace(heading))),
		Body:   render.PullBody(v, s.Requester, from),
		Closes: from.Closes(),
		With:   s.With,
		Draft:  set.Draft == nil || *set.Draft,
	}
	words := policy.PullWords{
		Branch: policy.BranchValues{
			Number:  s.Thread.Number,
			Title:   cmp.Or(issue.Title, "task"),
			Session: s.ID,
			Mode:    v.Task.Mode,
		},
		Title: strings.TrimSpace(heading), Head: v.Branch, Base: to, Requester: s.Requester,
		Summary: render.PullSummary(v, s.Thread.Number), Files: render.PullFiles(v),
	}
	if title := words.Line(set.Title); title != "" { //control:title-template
		out.Title = phrase.Short(title, maxTitle)
	}
	switch {
	case set.Body != "":
		out.Body = render.PullNotices(v, from) + words.Fill(set.Body)
	default:
		form, err := readForm(ctx, s.Client, to)
		if err != nil {
			return nil, err
		}
		out.Body, out.Folds = fill(form, out.Body, from.Closes()), render.PullLog(v)
	}
	out.Body = before + out.Body
	return out, nil
}

// titleOf returns the title of a session's work: the newest one of the model, or else one
// made from the changed files. It is empty if no file is changed.
func titleOf(v *session.State) string {
	if len(v.Files) == 0 {
		return ""
	}
	for _, end := range slices.Backward(v.Ends) {
		if end.Title != "" {
			return end.Title
		}
	}
	return v.Task.Convention.Fit(session.Subject(v.Files), v.Files, v.Task.Text)
}

func number(n int) string { return "#" + strconv.Itoa(n) }
