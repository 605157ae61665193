package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
		Subject: session.Subject(p.changesOf(a.Paths)),
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
// granted. What it was for ran before, so nothing is said of that. A reviewer's
// words are somebody's text: they stand between marks.
func (p *publisher) refusal(g *session.CallState) (string, bool) {
	if !refused(g) {
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

// takenBack tells of changes that were taken back, and that a command which made
// some of them ran all the same.
func (p *publisher) takenBack(paths []string, why string) string {
	text := fmt.Sprintf("The change to %s was taken back. ", wordList(paths))
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

// wordList writes "a, b and c".
func wordList(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}
