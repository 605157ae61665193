package render

import (
	"fmt"
	"strings"
)

// Reasons why an answer does not count, or why a request was settled without one. They
// are shown with the verdict, and the agent receives them too.
const (
	WhyNoPart         = "no right here, and no session to have a part in"
	WhyLate           = "the time to answer is over"
	WhyTooLong        = "it is too long to be shown whole in one comment, so nobody could see what a yes would be for"
	WhyElsewhere      = "the edit was made on another machine and is not here"
	WhyAnotherAccount = "the account that approved is another one now"
	WhyAnotherAuthor  = "the account that wrote it is another one now"
	WhyOtherWords     = "the text that it comes from does not say yes to this request"
	WhyNotShown       = "no comment of mine in this thread shows exactly this request"
	WhyNowhere        = "it cannot be found any more where the approval came from"
	WhyReviewEdited   = "the review that approved was edited, dismissed or deleted"
	WhyCommentDeleted = "the comment that approved was deleted"
	WhyCommentEdited  = "the comment that approved was edited"
	WhyPushed         = "somebody pushed to the branch of the pull request, so it is no longer the edit that was asked for"
	WhyRetargeted     = "somebody changed the branch that the pull request goes to"
	WhyClosed         = "the pull request was closed without being merged"
	WhyPullGone       = "its pull request is gone"
	WhyMergedUnknown  = "GitHub does not say by whom"
	WhyRejected       = "a reviewer asked for changes"
	WhyTakenBack      = "the review that approved it was taken back"
	WhyNoCode         = "the repository, or the commit that the work starts from, is not there, or I may not see it"
	WhyNoGitAccess    = "I have no access to the code of this repository. The App has to be installed on it, with the permission Contents: read and write"
	WhySignedByApps   = "`commits.sign` is `api`: GitHub signs the commits of a GitHub App, and none that are made with a token. Set it to another value, or set Handrail up as an App"
	WhyNotSigned      = "`commits.sign` is `api`, and GitHub does not sign the commits that it makes here. The server asks for signed commits, so nothing goes to a branch without. Whoever runs the server can set `policy.commits.sign` to `ssh` or `gpg` with a key, or to `none`"
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
		list = []string{"that this needs"}
	}
	return "I lack the permission " + strings.Join(list, " or ") + ". Whoever owns the GitHub App grants it in the settings of the App, and an owner of this account accepts it; then ask me again"
}

// WhyNoSigningKey says that the server has no key of the configured kind.
func WhyNoSigningKey(kind string) string {
	return "`commits.sign` is " + code(kind) + ", and this server has no such key: whoever runs it can set `commits.key`, or the repository sets it to another value"
}

// Obstacles to the server's own work, as formats for [fmt.Errorf].
const (
	WhyNotOnGitHub     = "GitHub says that something is not there any more (%s)"
	WhyRefusedByGitHub = "GitHub does not let me do it (%s: %s)"
	WhyServer          = "something is wrong on the server that I run on, and whoever runs it finds more in its log (%s)"
)

// Detail shows the text of an error to expert readers.
func Detail(text string) string { return code(line(text, 200)) }

// NoWorkspace says that a workflow run has no workspace for commands.
func NoWorkspace(why string) string {
	return "there is no workspace for commands in this workflow run (" + Detail(why) + "). Whoever keeps the workflow can mend that. Then ask me again, or write `/agent retry` where a session ended by it."
}

// NoImage says that the image for commands is not available.
func NoImage(why string) string {
	return "there is no image for commands to run in (" + code(line(why, 600)) + "). Whoever runs the server can get it there; a repository can name another one in `.github/agent.yml`, as `workspace: {image: …}`. Then write `/agent retry`."
}

// WhyNoRight says that the approver has lost the right to approve.
func WhyNoRight(why string) string { return "the approval does not count any more: " + why }

// WhyMergedAlone says why a manual merge is not an approval.
func WhyMergedAlone(why string) string { return "it was merged by hand, but " + why }

// WhyMergedBy says that the account behind a manual merge may not approve.
func WhyMergedBy(why string) string {
	return "it was merged by hand by somebody who cannot approve it: " + why
}

// WhyOtherCommit says that a review is for a different commit.
func WhyOtherCommit(of, asked string) string {
	return fmt.Sprintf("it is of %.7s, and what was asked for is %.7s", of, asked)
}

// WhyNoPull says that GitHub refused the pull request for an edit.
func WhyNoPull(reason string) string { return "GitHub does not take the pull request (" + reason + ")" }
