package ghapp

import (
	"context"
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
		{"GET", "/api/v3/repos/o/r/pulls/3/files", "pull_requests: read"},
		{"GET", "/api/v3/repos/o/r/commits/abc/status", "statuses: read"},
		{"GET", "/api/v3/repos/o/r/actions/jobs/5/logs", "actions: read"},
		{"GET", "/api/v3/search/issues", "issues: read"},
		{"GET", "/api/v3/search/code", ""},
		{"GET", "/other", ""},
		{"POST", "/api/graphql", ""},
		{"POST", "/api/v3/graphql", ""},
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

// TestQueryRights: a query reads, whatever its method says, and nothing else that is
// sent to GraphQL passes.
func TestQueryRights(t *testing.T) {
	t.Parallel()
	for q, want := range map[Query]string{ReviewThreads: "pull_requests: read", ClosingIssues: "issues: read, pull_requests: read"} {
		r, err := http.NewRequestWithContext(context.WithValue(t.Context(), queryKey{}, q), http.MethodPost, "http://h/api/graphql", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := permissionsOf(r, "/api/v3/"); err != nil || got.String() != want || !isRead(r) {
			t.Errorf("query %d: %q, %v; want %q", q, got, err, want)
		}
	}
	r, err := http.NewRequestWithContext(context.WithValue(t.Context(), queryKey{}, resolveThread), http.MethodPost, "http://h/api/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := permissionsOf(r, "/api/v3/"); err != nil || got.String() != "contents: write, pull_requests: write" || isRead(r) {
		t.Errorf("resolving: %q, %v", got, err)
	}
}

func TestGraphQLAddress(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]string{
		"":                              "https://api.github.com/graphql",
		"https://api.github.com":        "https://api.github.com/graphql",
		"https://api.acme.ghe.com/":     "https://api.acme.ghe.com/graphql",
		"https://git.acme.test/api/v3/": "https://git.acme.test/api/graphql",
		"https://git.acme.test/api/v3":  "https://git.acme.test/api/graphql",
		"http://127.0.0.1:80/x/api/v3/": "http://127.0.0.1:80/x/api/graphql",
	} {
		a, err := New(Config{APIURL: api, Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.graphQL(); got != want {
			t.Errorf("API %q: GraphQL at %s, want %s", api, got, want)
		}
	}
}
