// This file lists the permissions that the bot's GitHub App needs.

package granted

// Permission is a permission that the App needs in a repository or an organization.
type Permission struct {
	Name  string // GitHub's API name
	Level string // read or write
	Why   string
}

// wantedPermissions returns the permissions without which the bot cannot work.
func wantedPermissions() []Permission {
	return []Permission{
		{"contents", "write", "to read the code and to push branches of its own"},
		{"issues", "write", "to read and to answer in issues"},
		{"pull_requests", "write", "to open draft pull requests and to review"},
		{"checks", "write", "to show the status of a session on its commits"},
		{"statuses", "read", "to read the results of other checks"},
		{"actions", "read", "to read the logs of failed jobs"},
		{"members", "read", "to read the teams of approvers"},
		{"metadata", "read", "to read the permissions of users"},
	}
}

// workflows returns the permission to push changes below .github/workflows. It is
// optional: without it, the bot shows such a change in the thread for a user to commit.
func workflows() Permission {
	return Permission{"workflows", "write", "to push approved changes of workflow files"}
}
