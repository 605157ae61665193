package policy

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// runOnPush are the files that define what CI systems do. A system reads them
// from whatever branch is pushed, so a change is in force before anybody has
// looked at it. All of them are sensitive.
var runOnPush = [...]string{
	".github/workflows/**", ".github/actions/**", "**/action.{yml,yaml}",
	"**/.gitlab-ci*.{yml,yaml}", ".gitlab/**", ".gitea/workflows/**", ".forgejo/workflows/**", ".woodpecker*", ".woodpecker/**",
	".circleci/**", "**/.travis.{yml,yaml}", "**/jenkinsfile*", "**/{*.,}azure-pipelines*.{yml,yaml}", ".azure-pipelines/**", ".azuredevops/**",
	".buildkite/**", "**/.drone.{yml,yaml,jsonnet,star}", "**/appveyor.yml", "**/.appveyor.yml", "**/bitbucket-pipelines.yml",
	"**/cloudbuild.{yml,yaml,json}", "**/buildspec*.{yml,yaml}", ".cirrus.{yml,star}", ".semaphore/**", "**/codefresh.{yml,yaml}",
	".teamcity/**", "**/wercker.yml", "**/.tekton/**", ".ci/**",
}

// RunsOnPush reports whether the file at name says what a CI system does, so
// that pushing a change of it to any branch already has an effect. Such a
// change is never pushed before a person said yes. Names are read as
// [Policy.Sensitive] reads them.
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

// Later turns the question about an edit into a yes for the workspace alone,
// where the only reason to ask is that its files are sensitive and where the
// resulting tree is looked at before it goes anywhere. The question is then
// asked there. Everything else stays as it was decided: what runs on push,
// what git itself reads, a directory that holds sensitive files, and what
// the configuration asks about anyway.
func (p *Policy) Later(a Action, d Decision) Decision {
	if p == nil || !p.ready || d.Verdict != Ask || d.Rule != "sensitive_files" || a.Kind != Write && a.Kind != Delete || p.defaults[a.Kind] != Allow {
		return d
	}
	for _, name := range a.Paths {
		if RunsOnPush(name) || insideGit(name) || p.touches(name).Sensitive && !p.Sensitive(name).Sensitive { //control:review-runs-on-push-tool
			return d
		}
	}
	return d.settle(Allow, "approvals.by", "it is made in the workspace only; it waits for a review before it goes to the branch")
}

// insideGit reports whether any reading of name is of git's own directory,
// which is in no tree.
func insideGit(name string) bool {
	return slices.ContainsFunc(readings(name), func(r string) bool { return slices.Contains(strings.Split(r, "/"), ".git") })
}
