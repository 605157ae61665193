package policy

import (
	"slices"
	"testing"
)

func TestRunsOnPush(t *testing.T) {
	for name, want := range map[string]bool{
		".github/workflows/ci.yml": true, ".GitHub/Workflows/ci.yml": true, "./.github/workflows/a/b.yaml": true,
		`.github\workflows\ci.yml`: true, ".github/actions/setup/run.sh": true, "tools/action.yml": true, "Jenkinsfile": true,
		".gitlab-ci.yml": true, ".circleci/config.yml": true, ".ci/run": true,
		".env": false, "deploy/app.yaml": false, "go.sum": false, "Dockerfile": false, "workflows/ci.yml": false, "main.go": false,
	} {
		if got := RunsOnPush(name); got != want {
			t.Errorf("RunsOnPush(%q) = %t", name, got)
		}
	}
	for _, p := range runOnPush {
		if !slices.Contains(defaultSensitive[:], p) {
			t.Errorf("%s is not sensitive", p)
		}
	}
}

// How people are asked: a word of the server holds, else the repository's.
func TestApprovalsBy(t *testing.T) {
	for _, tt := range []struct{ server, repo, want string }{
		{"", "", ""}, {"", "review", "review"}, {"review", "", "review"}, {"comment", "review", "comment"}, {"review", "comment", "review"},
	} {
		got := Merge(Config{Approvals: Approvals{By: tt.server}}, Config{Approvals: Approvals{By: tt.repo}})
		if got.Approvals.By != tt.want || got.ByReview() != (tt.want == "review") {
			t.Errorf("server %q, repository %q: %q", tt.server, tt.repo, got.Approvals.By)
		}
	}
	if err := (Config{Approvals: Approvals{By: "mail"}}).Validate(); err == nil {
		t.Error("an unknown way to ask is accepted")
	}
}
