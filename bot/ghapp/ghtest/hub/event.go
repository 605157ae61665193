package hub

import "slices"

// Event is one event on GitHub. Kind and Action are GitHub's terms; the kind determines
// the other fields that are set.
type Event struct {
	Kind, Action string
	By           *User
	Repo         *Repo
	Issue        *Issue
	Comment      *Comment
	Review       *Review
	Check        *CheckRun
	Move         *Move          // branch update of a push or pull request
	Before       string         // text of a comment, or base, before an edit
	Text         string         // text of an issue or a pull request before an edit
	Label        string         // label that was added or removed
	User         *User          // assignee or requested reviewer
	Team         string         // requested team, "org/slug"
	Payload      map[string]any // payload of a dispatch
}

// AboutIssue returns an event of an issue or pull request.
func AboutIssue(action string, is *Issue, by *User) Event {
	kind := "issues"
	if is.Pull != nil {
		kind = "pull_request"
	}
	return Event{Kind: kind, Action: action, By: by, Repo: is.Repo, Issue: is}
}

// AboutComment returns an event of an issue comment or a diff comment.
func AboutComment(action string, c *Comment, by *User) Event {
	kind := "issue_comment"
	if c.Path != "" {
		kind = "pull_request_review_comment"
	}
	return Event{Kind: kind, Action: action, By: by, Repo: c.Issue.Repo, Issue: c.Issue, Comment: c}
}

// AboutReview returns an event of a review.
func AboutReview(action string, is *Issue, rv *Review, by *User) Event {
	return Event{Kind: "pull_request_review", Action: action, By: by, Repo: is.Repo, Issue: is, Review: rv}
}

// AboutCheck returns an event of a check run or of its suite.
func AboutCheck(kind, action string, c *CheckRun, by *User) Event {
	return Event{Kind: kind, Action: action, By: by, Repo: c.Repo, Check: c}
}

// Attempts applies GitHub's filter for check runs: "all" keeps every run, any other
// value the latest run by name, App and commit.
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
	return slices.DeleteFunc(
		slices.Clone(list),
		func(c *CheckRun) bool { return latest[key{c.Name, c.SHA, c.ByApp}] != c },
	)
}
