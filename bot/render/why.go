package render

import (
	"fmt"
	"strings"
)

// Reasons why an answer does not count, or why a request was settled without one. They
// are shown with the verdict, and the agent receives them too.
const (
	WhyNoPart         = "no rights here, and no part in a session"
	WhyLate           = "the deadline has passed"
	WhyTooLong        = "it is too long for one comment, so it cannot be shown and approved as a whole"
	WhyElsewhere      = "the edit was made on another machine and is not here"
	WhyAnotherAccount = "the login of the approver now belongs to another account"
	WhyAnotherAuthor  = "the login of the author now belongs to another account"
	WhyOtherWords     = "its text does not approve this request"
	WhyNotShown       = "no comment of mine in this thread shows exactly this request"
	WhyNowhere        = "the text of the approval can no longer be found"
	WhyReviewEdited   = "the approving review was edited, dismissed or deleted"
	WhyCommentDeleted = "the approving comment was deleted"
	WhyCommentEdited  = "the approving comment was edited"
	WhyPushed         = "a push to the branch of the pull request changed the edit"
	WhyRetargeted     = "the base branch of the pull request was changed"
	WhyClosed         = "the pull request was closed without being merged"
	WhyPullGone       = "its pull request is gone"
	WhyMergedUnknown  = "GitHub does not name the account"
	WhyRejected       = "a reviewer requested changes"
	WhyTakenBack      = "the approving review was withdrawn"
	WhyNoCode         = "the repository or the base commit does not exist, or I may not see it"
	WhyNoGitAccess    = "I have no access to the code of this repository. Install the App on it, with the permission Contents: read and write"
	WhySignedByApps   = "`commits.sign` is `api`: GitHub signs the commits of a GitHub App, and none that are made with a token. Set another value, or set Handrail up as an App"
	WhyNotSigned      = "`commits.sign` is `api`, but GitHub does not sign the commits that it makes here. The server requires signed commits, so nothing goes to a branch. Its operator can set `policy.commits.sign` to `ssh` or `gpg` with a key, or to `none`"
)

// WhyNoPermission names the permission that the App lacks, as GitHub names it.
func WhyNoPermission(lacks string) string {
	var list []string
	for one := range strings.SplitSeq(lacks, ";") {
		name, grant, _ := strings.Cut(strings.TrimSpace(one), "=")
		if grant = map[string]string{"write": "read and write", "read": "read"}[grant]; name != "" && grant != "" {
			name = strings.ReplaceAll(clean(line(name, 60)), "_", " ")
			list = append(list, fmt.Sprintf("*%s%s: %s*", strings.ToUpper(name[:1]), name[1:], grant))
		}
	}
	if len(list) == 0 {
		list = []string{"for this"}
	}
	return "I lack the permission " + strings.Join(list, " or ") + ". The owner of the GitHub App grants it in the App's settings, and an owner of this account accepts it; then ask me again"
}

// WhyNoSigningKey says that the server has no key of the configured kind.
func WhyNoSigningKey(kind string) string {
	return "`commits.sign` is " + code(kind) + ", but this server has no such key: its operator can set `commits.key`, or the repository another value"
}

// Obstacles to the server's own work, as formats for [fmt.Errorf].
const (
	WhyNotOnGitHub     = "something no longer exists on GitHub (%s)"
	WhyRefusedByGitHub = "GitHub refused it (%s: %s)"
	WhyServer          = "my server has a problem, and its operator finds more in the log (%s)"
)

// Detail shows the text of an error to expert readers.
func Detail(text string) string { return code(line(text, 200)) }

// NoWorkspace says that a workflow run has no workspace for commands.
func NoWorkspace(why string) string {
	return "this workflow run has no workspace for commands (" + Detail(why) + "). A maintainer can fix the workflow. Then ask me again, or write `/agent retry` if a session ended."
}

// NoImage says that the server does not have the image for commands.
func NoImage(image string) string {
	return "this server does not have the container image " + code(line(image, 255)) + ", in which commands run. Its operator can add it; a maintainer can name another one in `.github/agent.yml`, as `workspace: {image: …}`. Then write `/agent retry`."
}

// WhyNoRight says that the approver has lost the right to approve.
func WhyNoRight(why string) string { return "the approval no longer counts: " + why }

// WhyMergedAlone says why a manual merge is not an approval.
func WhyMergedAlone(why string) string { return "it was merged by hand, but " + why }

// WhyMergedBy says that the account behind a manual merge may not approve.
func WhyMergedBy(why string) string {
	return "it was merged by hand by an account that cannot approve it: " + why
}

// WhyOtherCommit says that a review is for a different commit.
func WhyOtherCommit(of, asked string) string {
	return fmt.Sprintf("it is of %.7s, and the request is for %.7s", of, asked)
}

// WhyNoPull says that GitHub refused the pull request for an edit.
func WhyNoPull(reason string) string { return "GitHub refused the pull request (" + reason + ")" }
