// Needs is the table of what a GitHub App must be allowed, and hear, to be the bot.

package granted

// Permission is one that the App needs of a repository or an organization.
type Permission struct {
	Name  string // as GitHub's API has it
	Level string // read or write
	Why   string
}

// Permissions returns what the bot cannot do without.
func wantedPermissions() []Permission {
	return []Permission{
		{"contents", "write", "to read the code and to push branches of its own"},
		{"issues", "write", "to read and to answer in issues"},
		{"pull_requests", "write", "to open draft pull requests and to review"},
		{"checks", "write", "to show how a session stands on its commits"},
		{"statuses", "read", "to see how other checks went"},
		{"actions", "read", "to read the logs of failed jobs"},
		{"members", "read", "to know the teams that may approve"},
		{"metadata", "read", "to know who may do what in a repository"},
	}
}

// Workflows returns what the bot needs to push changes below .github/workflows. Most do
// without: such a change is then shown in the thread, and a person makes it.
func workflows() Permission {
	return Permission{"workflows", "write", "to push changes of workflow files that somebody approved"}
}

// Events returns what the App must subscribe to.
func Events() []string {
	return []string{
		"issue_comment", "issues", "pull_request", "pull_request_review", "pull_request_review_comment",
		"repository", "push", "check_run", "check_suite", "workflow_run", "status", "repository_dispatch",
	}
}
