package policy

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// runOnPush are the files that configure CI systems. CI reads them from any pushed
// branch, so a change takes effect before any review. All of them are sensitive.
var runOnPush = [...]string{
	".github/workflows/**", ".github/actions/**", "**/action.{yml,yaml}",
	"**/.gitlab-ci*.{yml,yaml}", ".gitlab/**", ".gitea/workflows/**", ".forgejo/workflows/**", ".woodpecker*", ".woodpecker/**",
	".circleci/**", "**/.travis.{yml,yaml}", "**/jenkinsfile*", "**/{*.,}azure-pipelines*.{yml,yaml}", ".azure-pipelines/**", ".azuredevops/**",
	".buildkite/**", "**/.drone.{yml,yaml,jsonnet,star}", "**/appveyor.yml", "**/.appveyor.yml", "**/bitbucket-pipelines.yml",
	"**/cloudbuild.{yml,yaml,json}", "**/buildspec*.{yml,yaml}", ".cirrus.{yml,star}", ".semaphore/**", "**/codefresh.{yml,yaml}",
	".teamcity/**", "**/wercker.yml", "**/.tekton/**", ".ci/**",
}

// RunsOnPush reports whether the file at name configures a CI system: pushing a change of
// it to any branch has an effect, so such a change is never pushed before approval. Names
// are read as in [Policy.Sensitive].
func RunsOnPush(name string) bool {
	for _, reading := range readings(name) {
		for _, pattern := range runOnPush {
			if ok, err := doublestar.Match(foldPattern(pattern), reading); ok || err != nil {
				return true
			}
		}
	}
	return false
}

// Later allows an edit in the workspace if the only reason to ask is that its files are
// sensitive. It is for sessions whose resulting tree is checked before the push, so
// that approval is requested then. It does not change decisions about files that run on
// push, files that git itself reads, directories with sensitive files, and edits that the
// configuration asks about anyway.
func (p *Policy) Later(a Action, d Decision) Decision {
	if p == nil || !p.ready || d.Verdict != Ask || d.Rule != "sensitive_files" || a.Kind != Write && a.Kind != Delete ||
		p.defaults[a.Kind] != Allow {
		return d
	}
	for _, name := range a.Paths {
		if RunsOnPush(name) || insideGit(name) || p.Touches(name).Sensitive && !p.Sensitive(name).Sensitive { //control:review-runs-on-push-tool
			return d
		}
	}
	return d.settle(
		Allow,
		"approvals.by",
		"it is made in the workspace only; it waits for a review before it goes to the branch",
	)
}

// insideGit reports whether any reading of name is in git's own directory, which is never
// part of a tree.
func insideGit(name string) bool {
	return slices.ContainsFunc(
		readings(name),
		func(r string) bool { return slices.Contains(strings.Split(r, "/"), ".git") },
	)
}
