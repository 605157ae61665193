package render

import (
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// Reasons for which work on a fork does not continue.
const (
	WhyForkMoved = "the fork has new commits since then"
	ForkMovesOn  = "The fork got new commits again and again while I waited for a word on one, so I stopped asking. Ask me again when it rests."
)

func okFor(commit string) string { return fmt.Sprintf("`/agent ok %s`", commit) }

// ForkRequest returns the comment that requests approval to work on a commit of a fork,
// or shows the outcome of that request.
func ForkRequest(r *session.Request) string {
	switch {
	case r.Approval.IsPending():
		since := ""
		for _, why := range r.Reasons {
			since = "What was asked or allowed here before does not count any more: " + why + ".\n\n"
		}
		return fmt.Sprintf("### ✋ This pull request comes from a fork\n\n%sI change nothing there until somebody with write access has looked at its code. To let me work on the commit %s, write\n\n%s\n\n"+
			"That is for this commit alone. Its code runs in my workspace then, and goes with my changes to a branch of this repository, where CI may run it; nothing goes to the fork. Modes that only read, such as `/agent --mode review …`, need no such word.\n",
			since, r.Head, okFor(r.Head))
	case r.Answer != nil && r.Answer.Verdict == policy.Approved:
		return fmt.Sprintf("✅ %s let me work on the commit %s of the fork. My changes go to a branch of this repository.\n", line(r.Answer.By, 60), r.Head)
	}
	return fmt.Sprintf("⏹️ I do not wait for a word on the commit %s of the fork any more.\n", r.Head)
}

// ForkMoved says that an approval is for an outdated commit of the fork.
func ForkMoved(commit, head string) string {
	return fmt.Sprintf("The fork has new commits: `%s` is not its newest one any more, so nothing was done. Look at the new ones first. To let me work on them, write %s.", commit, okFor(head))
}

// ForkOther says that an approval names a commit without a request.
func ForkOther(commit, head string) string {
	return fmt.Sprintf("The fork is not at a commit `%s`, so nothing was done. To let me work on what it has now, write %s.", commit, okFor(head))
}

// ForkAmbiguous says that an approval matches several commits.
func ForkAmbiguous(commit, head string) string {
	return fmt.Sprintf("Several commits of the fork begin with `%s`, so nothing was done. To let me work on the newest one, write all of its digits: %s.", commit, okFor(head))
}

// ForkNamesNone says that an approval must name a commit, and suggests the requested
// one.
func ForkNamesNone(head string) string {
	return fmt.Sprintf("Nothing was done: say which commit of the fork I may work on. For the one that I asked about, write %s.", okFor(head))
}
