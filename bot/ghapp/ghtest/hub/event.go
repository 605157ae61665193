package hub

import "slices"

// Event is one thing that happened. Kind and Action are GitHub's words for it;
// what is set beside them depends on the kind.
type Event struct {
	Kind, Action string
	By           *User
	Repo         *Repo
	Issue        *Issue
	Comment      *Comment
	Review       *Review
	Check        *CheckRun
	Move         *Move          // of the branch of a push or a pull request
	Before       string         // the text or the base before an edit
	Label        string         // that was added or removed
	User         *User          // who was assigned or asked to review
	Team         string         // that was asked to review, "org/slug"
	Payload      map[string]any // of a dispatch
}

// AboutIssue is an event of an issue or pull request.
func AboutIssue(action string, is *Issue, by *User) Event {
	kind := "issues"
	if is.Pull != nil {
		kind = "pull_request"
	}
	return Event{Kind: kind, Action: action, By: by, Repo: is.Repo, Issue: is}
}

// AboutComment is an event of a comment on a thread or on a diff.
func AboutComment(action string, c *Comment, by *User) Event {
	kind := "issue_comment"
	if c.Path != "" {
		kind = "pull_request_review_comment"
	}
	return Event{Kind: kind, Action: action, By: by, Repo: c.Issue.Repo, Issue: c.Issue, Comment: c}
}

// AboutReview is an event of a review.
func AboutReview(action string, is *Issue, rv *Review, by *User) Event {
	return Event{Kind: "pull_request_review", Action: action, By: by, Repo: is.Repo, Issue: is, Review: rv}
}

// AboutCheck is an event of a check run, or of the suite that it is in.
func AboutCheck(kind, action string, c *CheckRun, by *User) Event {
	return Event{Kind: kind, Action: action, By: by, Repo: c.Repo, Check: c}
}

// Attempts returns check runs as a filter of GitHub's has it: all of them, or the latest
// of each name, App and commit.
func Attempts(list []*CheckRun, filter string) []*CheckRun {
	if filter == "all" {
		return list
	}
	type key struct {
		name, sha string
		ours      bool
	}
	latest := map[key]*CheckRun{}
	for _, c := range list {
		latest[key{c.Name, c.SHA, c.ByApp}] = c
	}
	return slices.DeleteFunc(slices.Clone(list), func(c *CheckRun) bool { return latest[key{c.Name, c.SHA, c.ByApp}] != c })
}
