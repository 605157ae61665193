package render

import (
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// Reasons for which work on a fork does not continue.
const (
	WhyForkMoved = "the fork has new commits since then"
	ForkMovesOn  = "The fork kept getting new commits while I waited for approval, so I stopped asking. Ask me again when it has settled."
)

func okFor(commit string) string { return fmt.Sprintf("`/agent ok %s`", commit) }

// ForkRequest returns the comment that requests approval to work on a commit of a fork,
// or shows the outcome of that request.
func ForkRequest(r *session.Request) string {
	switch {
	case r.Approval.IsPending():
		since := ""
		for _, why := range r.Reasons {
			since = "Earlier requests and approvals here no longer count: " + why + ".\n\n"
		}
		return fmt.Sprintf(
			"### ✋ This pull request comes from a fork\n\n%sI start when a user with write access has reviewed its code. To let me work on the commit %s, write\n\n%s\n\n"+
				"This covers that commit alone. Its code then runs in my workspace and goes, with my changes, to a branch of this repository, where CI may run it; nothing is pushed to the fork. Read-only modes, such as `/agent --mode review …`, need no approval.\n",
			since,
			r.Head,
			okFor(r.Head),
		)
	case r.Answer != nil && r.Answer.Verdict == policy.Approved:
		return fmt.Sprintf(
			"✅ %s let me work on the commit %s of the fork. My changes go to a branch of this repository.\n",
			line(r.Answer.By, 60),
			r.Head,
		)
	}
	return fmt.Sprintf("⏹️ I no longer wait for approval of the fork's commit %s.\n", r.Head)
}

// ForkWaits replies to words while a fork waits for the approval of its commit.
func ForkWaits(head string) string {
	return fmt.Sprintf("I read this when I start. To let me work on the fork's commit, write %s.", okFor(head))
}

// ForkMoved says that an approval is for an outdated commit of the fork.
func ForkMoved(commit, head string) string {
	return fmt.Sprintf(
		"The fork has new commits: `%s` is no longer the newest, so nothing was done. Review the new ones first. To let me work on them, write %s.",
		commit,
		okFor(head),
	)
}

// ForkOther says that an approval names a commit without a request.
func ForkOther(commit, head string) string {
	return fmt.Sprintf(
		"The fork is not at a commit `%s`, so nothing was done. To let me work on its newest commit, write %s.",
		commit,
		okFor(head),
	)
}

// ForkAmbiguous says that an approval matches several commits.
func ForkAmbiguous(commit, head string) string {
	return fmt.Sprintf(
		"Several commits of the fork begin with `%s`, so nothing was done. To let me work on the newest one, write its whole id: %s.",
		commit,
		okFor(head),
	)
}

// ForkRefused replies to a denial while a fork waits for its commit.
const ForkRefused = "Nothing was done, and nothing runs before a commit of the fork is approved. To end the request, write `/agent stop` and your reason."

// ForkNamesNone says that an approval must name a commit, and suggests the requested
// one.
func ForkNamesNone(head string) string {
	return fmt.Sprintf("Nothing was done: name the commit of the fork. For the one in my request, write %s.", okFor(head))
}
