package ghapp

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v62/github"
)

// permissions are the permissions of one token, in GitHub's names, all read or all
// write. Each call gets a token with its own permissions and no others, which limits
// the damage of a leak or misuse.
type permissions struct {
	names string // comma-separated; empty means metadata only, which every token has
	write bool
}

var (
	fetching         = permissions{names: "contents"}
	pushing          = permissions{names: "contents", write: true}
	pushingWorkflows = permissions{names: "contents,workflows", write: true}
)

// routes maps the first path segments below /repos/OWNER/NAME to the required
// permissions. A pull request is also an issue, so it depends on the thread which of
// the two permissions a comment needs.
var routes = []struct{ path, names string }{
	{"", ""},
	{"collaborators", ""},
	{"issues", "issues,pull_requests"},
	{"labels", "issues,pull_requests"},
	{"pulls", "pull_requests"},
	{"check-runs", "checks"},
	{"check-suites", "checks"},
	{"commits/*/check-runs", "checks"},
	{"commits/*/status", "statuses"},
	{"commits/*/pulls", "pull_requests"},
	{"commits", "contents"},
	{"branches", "contents"},
	{"compare", "contents"},
	{"contents", "contents"},
	{"git", "contents"},
	{"statuses", "statuses"},
	{"actions", "actions"},
}

// permissionsOf returns the permissions that a request needs. It refuses a request
// without a route.
func permissionsOf(r *http.Request, api string) (permissions, error) {
	need := permissions{write: !isRead(r)}
	if q, ok := queryOf(r); ok {
		need.names = queries[q].names
		return need, nil
	}
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.EscapedPath(), api), "/"), "/")
	switch {
	case path[0] == "repos" && len(path) >= 3:
		for _, route := range routes {
			if under(path[3:], route.path) {
				need.names = route.names
				return need, nil
			}
		}
	case path[0] == "search" && len(path) == 2 && path[1] == "issues":
		need.names = "issues"
		return need, nil
	case path[0] == "orgs" && len(path) > 2 && path[2] == "teams":
		need.names = "members"
		return need, nil
	case path[0] == "users", path[0] == "user", path[0] == "installation", path[0] == "rate_limit":
		return need, nil
	}
	return need, fmt.Errorf("no permission is named for %s %s", r.Method, r.URL.Path)
}

// under reports whether path begins with the segments of pattern, in which * matches
// any segment. The empty pattern matches only the empty path.
func under(path []string, pattern string) bool {
	if pattern == "" {
		return len(path) == 0
	}
	words := strings.Split(pattern, "/")
	if len(path) < len(words) {
		return false
	}
	for i, w := range words {
		if w != "*" && w != path[i] {
			return false
		}
	}
	return true
}

// String returns the permissions in the notation of GitHub's settings page.
func (p permissions) String() string {
	if p.names == "" {
		return "metadata: read"
	}
	return strings.ReplaceAll(p.names, ",", ": "+p.level()+", ") + ": " + p.level()
}

func (p permissions) level() string {
	if p.write {
		return "write"
	}
	return "read"
}

// options returns the token request for these permissions in one repository.
func (p permissions) options(repo string) *github.InstallationTokenOptions {
	level := p.level()
	perms := &github.InstallationPermissions{Metadata: github.String("read")}
	fields := map[string]**string{
		"contents": &perms.Contents, "issues": &perms.Issues, "pull_requests": &perms.PullRequests, "checks": &perms.Checks,
		"statuses": &perms.Statuses, "actions": &perms.Actions, "members": &perms.Members, "workflows": &perms.Workflows,
	}
	for _, name := range strings.Split(p.names, ",") {
		if f, ok := fields[name]; ok {
			*f = &level
		}
	}
	return &github.InstallationTokenOptions{Repositories: []string{repo}, Permissions: perms}
}
