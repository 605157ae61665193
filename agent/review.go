package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Proposer makes the commit by which a sensitive edit is reviewed. It shows
// it to nobody. A zero Review says that the edit cannot be put this way.
type Proposer interface {
	Propose(ctx context.Context, p Proposal) (session.Review, error)
}

// Proposal is an edit to be reviewed: what Saved holds at Paths, on top of
// Parent, which is the last commit on the branch. ID names the request.
type Proposal struct {
	ID            string
	Turn          int
	Saved, Parent string
	Paths         []string
	Subject       string
}

// propose gives a request its commit, where it can be reviewed. What has a
// credential in it, or runs in CI as soon as it is pushed, cannot: it is
// pushed only after a yes.
func (p *publisher) propose(ctx context.Context, a *session.Asked, ru ruling, s sensitive) error {
	hidden := a.Display != ru.action.Display
	if p.gate.Proposer == nil || hidden || len(s.leaks) > 0 || slices.ContainsFunc(a.Paths, policy.RunsOnPush) || len(s.held) > 0 { //control:review-runs-on-push
		return nil
	}
	rv, err := p.gate.Proposer.Propose(ctx, Proposal{
		ID: a.ID, Turn: p.Turns, Saved: p.Saved, Parent: p.Published, Paths: a.Paths,
		Subject: subjectLine(p.changesOf(a.Paths)),
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

// refusal is what the model hears of a request at the door that was not
// granted. A reviewer's words are somebody's text: they stand between marks.
func (p *publisher) refusal(g *session.CallState) (string, bool) {
	text, refused := refusal(g)
	if !refused || g.Request.Review == nil || g.Approval().State != policy.Denied || g.Request.Answer.Reason == "" {
		return text, refused
	}
	who := g.Request.Answer.By
	if who == "" {
		who = "A reviewer"
	}
	return fmt.Sprintf("%s rejected it in review. It is not on the branch. Go on without it, or choose another way. What was written:\n%s",
		who, untrusted.Fence(p.talk.nonce, "words of a reviewer", g.Request.Answer.Reason)), true //control:review-words
}
