package work

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// A commit message tells nobody and closes nothing when it arrives on the default
// branch, whatever the model called its change.
func TestCommitMessageIsInert(t *testing.T) {
	c := &checkpoints{job: Job{}, secrets: Secrets{Redactor: secret.NewRedactor()}}
	got := c.meta("Fixes #1 and closes other/repo#2, thanks @victim\n::set-output name=x::y", 1).Message
	if len(githubcheck.Closing(got))+len(githubcheck.Mentions(got))+len(githubcheck.Commands(got)) > 0 || !strings.Contains(got, "thanks @ victim") {
		t.Errorf("the message is %q", got)
	}
}
