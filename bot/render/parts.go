package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/thread"
)

// PartTitle is the title of the issue for a session's change in another repository, from the
// title of the session's thread.
func PartTitle(of thread.Ref, heading string) string {
	return fmt.Sprintf("%s (from %s)", line(strings.TrimSpace(heading), 160), of.Repository())
}

// maxPartFiles is the maximum number of files that the text of that issue names.
const maxPartFiles = 20

// PartBody is the text of that issue. Its last line links the session's thread.
func PartBody(requester string, files []session.FileChange) string {
	var names []string
	for _, f := range files[:min(len(files), maxPartFiles)] {
		names = append(names, "- "+code(f.Path))
	}
	if more := len(files) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("- and %d more", more))
	}
	return fmt.Sprintf("I did some work for %s in another repository, and changed files of this one for it:\n\n%s\n\n"+
		"I open a pull request for them. To approve, undo or ask for more, write here.",
		code(requester), strings.Join(names, "\n"))
}

// PartTask is the task of the session of a part.
func PartTask(of thread.Ref, task string) string {
	return fmt.Sprintf(
		"This repository's part of the work in %s is done already; it only has to be published. The request was:\n\n%s",
		of.String(), task,
	)
}

// PartSaid is the end of the session of a part, from the end of the whole.
func PartSaid(whole session.Outcome) string {
	return strings.TrimSpace("This is the part for this repository.\n\n" + cmp.Or(whole.Summary, whole.Reason))
}

// PartPassed tells the thread of a session about its part in another repository. The last line
// of the comment links that.
func PartPassed(repository string) string {
	return fmt.Sprintf("My change in %s goes on there, in an issue with its own pull request and approvals.",
		code(repository))
}

// PartWaits says that a change in another repository waits for the end of the session's work.
func PartWaits(repository string) string {
	return fmt.Sprintf("I keep the change in %s, and take it there when the work here is done.", code(repository))
}

// PartRefused says that a change in another repository has no thread there, and where it is.
// why completes the sentence.
func PartRefused(repository, why, session string, shown bool) string {
	where := "It is below, as a patch."
	if !shown {
		where = fmt.Sprintf("It is in this server's clone of that repository, as %s.", code("refs/handrail/sessions/"+session))
	}
	return fmt.Sprintf("I did not take the change in %s there: %s. %s", code(repository), why, where)
}

// Reasons of [PartRefused].
const (
	PartUnreachable  = "my installation here does not reach that repository any more, or not by this name"
	PartUnserved     = "this server does not work for that repository"
	PartOtherReaders = "it has another visibility than this repository now"
)

// PartNoIssue is the reason if GitHub refuses the issue.
func PartNoIssue(said string) string { return "GitHub takes no issue there (" + said + ")" }
