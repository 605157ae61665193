package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Proposer makes the commit for the review of a sensitive edit, without showing it. A
// zero Review means that the edit cannot be reviewed this way.
type Proposer interface {
	Propose(ctx context.Context, p Proposal) (session.Review, error)
}

// Proposal is an edit to be reviewed: the content of Saved at Paths, on top of Parent,
// the last commit on the branch. ID names the request.
type Proposal struct {
	ID            string
	Turn          int
	Saved, Parent string
	Paths         []string
	Subject       string
}

// propose adds a review commit to a request, if possible. An edit that contains a
// credential, or that runs in CI on push, is pushed only after its approval.
func (p *publisher) propose(ctx context.Context, a *session.Asked, ru ruling, s sensitive) error {
	hidden := a.Display != ru.action.Display
	if p.gate.Proposer == nil || hidden || len(s.leaks) > 0 || slices.ContainsFunc(a.Paths, policy.RunsOnPush) || len(s.held) > 0 { //control:review-runs-on-push
		return nil
	}
	rv, err := p.gate.Proposer.Propose(ctx, Proposal{
		ID: a.ID, Turn: p.Turns, Saved: p.Saved, Parent: p.Published, Paths: a.Paths,
		Subject: p.Task.Convention.Fit(session.Subject(p.changesOf(a.Paths)), p.changesOf(a.Paths), ""),
	})
	if err != nil {
		return fmt.Errorf("make the commit to be reviewed: %w", err)
	}
	if rv != (session.Review{}) {
		a.Review = &rv
	}
	return nil
}

// changesOf returns the unpushed changes of paths.
func (p *publisher) changesOf(paths []string) []session.FileChange {
	meant := setOf(paths)
	var out []session.FileChange
	for _, f := range p.Unpushed {
		if meant[f.Path] || meant[f.From] {
			out = append(out, f)
		}
	}
	return out
}

// refusalText returns the text for the model if a push was refused. The edit itself was
// already made, so the text does not say that it was not run. A reviewer's words are
// untrusted and therefore fenced.
func (p *publisher) refusal(g *session.CallState) (string, bool) {
	if !isRefused(g) {
		return "", false
	}
	if g.Request.Review == nil || g.Approval().State != policy.Denied || g.Request.Answer.Reason == "" {
		return g.Refusal() + " " + g.GoOn(), true
	}
	who := g.Request.Answer.By
	if who == "" {
		who = "A reviewer"
	}
	return fmt.Sprintf("%s rejected it in review. It is not on the branch. Go on without it, or choose another way. What was written:\n%s",
		who, untrusted.Fence(p.talk.nonce, "words of a reviewer", g.Request.Answer.Reason)), true //control:review-words
}

// takenBackText describes reverted changes. It adds that the command ran if one made some of
// them.
func (p *publisher) takenBackText(paths []string, why string) string {
	text := fmt.Sprintf("The change to %s was taken back. ", phrase.List(paths))
	byTool, ran := map[string]bool{}, false
	for _, c := range p.Last {
		if c.Result == nil {
			continue
		}
		ran = ran || c.Title() != "" && c.Decision != nil && c.Decision.Kind == policy.Execute
		for _, f := range c.Result.Changes {
			byTool[f.Path] = true
		}
	}
	if ran && slices.ContainsFunc(paths, func(path string) bool { return !byTool[path] }) {
		return "The command ran. " + text + "The rest of what it did stays. " + why
	}
	return text + why
}
