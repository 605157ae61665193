package ghapp

import (
	"net/http"
	"testing"
)

// TestRoutes: what a call needs is found by whole words of its path, and a call that
// nobody named a permission for is not made.
func TestRoutes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/api/v3/repos/o/r", "metadata: read"},
		{"GET", "/api/v3/repos/issues/issues", "metadata: read"},
		{"PATCH", "/api/v3/repos/o/r/issues/comments/5", "issues: write, pull_requests: write"},
		{"POST", "/api/v3/repos/o/r/pulls/3/reviews", "pull_requests: write"},
		{"GET", "/api/v3/repos/o/r/commits/" + "abc" + "/check-runs", "checks: read"},
		{"GET", "/api/v3/repos/o/r/commits/feature%2Fcheck-runs", "contents: read"},
		{"GET", "/api/v3/repos/o/r/commits/abc/pulls", "pull_requests: read"},
		{"DELETE", "/api/v3/repos/o/r/git/refs/heads/x", "contents: write"},
		{"GET", "/api/v3/orgs/o/teams/t/memberships/kim", "members: read"},
		{"GET", "/api/v3/repos/o/r/hooks", ""},
		{"GET", "/api/v3/repos/o/r/collaborator", ""},
		{"POST", "/api/v3/orgs/o/invitations", ""},
		{"GET", "/other", ""},
	} {
		r, err := http.NewRequest(c.method, "http://h"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := permissionsOf(r, "/api/v3/")
		if (err != nil) != (c.want == "") || err == nil && got.String() != c.want {
			t.Errorf("%s %s: %q, %v; want %q", c.method, c.path, got, err, c.want)
		}
	}
}
