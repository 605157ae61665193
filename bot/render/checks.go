package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
)

// whyItBegan returns the reason for the current request if no user wrote it.
func whyItBegan(s *session.State) string {
	for _, m := range slices.Backward(s.Timeline) {
		if said, ok := m.(*session.Message); ok && said.Text != "" {
			if said.Why == "" {
				return ""
			}
			return "Resumed because " + words(line(said.Why, 200)) + ".\n\n"
		}
	}
	if s.Task.Why == "" {
		return ""
	}
	return "Started because " + words(line(s.Task.Why, 200)) + ".\n\n"
}

// ChecksFailed returns the reason for a session to continue after failed checks.
func ChecksFailed(n int, commit string) string {
	return fmt.Sprintf("%s failed on %.7s", phrase.Count(n, "check"), commit)
}

// MendChecks returns the request to the agent to fix failed checks.
func MendChecks(n int, commit string) string {
	return fmt.Sprintf(
		"%s of your pull request failed on commit %.12s. Above is the list, with the part of each log that says why. "+
			"Find the cause and mend it, and change nothing else; do not weaken a check to make it pass. "+
			"If the cause is not in this repository, such as a service that was away, change nothing and say so.",
		phrase.Count(n, "check"),
		commit,
	)
}

// ChecksUsedUp says that failed checks no longer resume the session.
func ChecksUsedUp(attempts int, commit string, pull int) string {
	return fmt.Sprintf("Checks of #%d still fail on `%.7s`. I tried %s, the limit of `ci_fix.attempts`, so I stop here. "+
		"Please have a look; your next `/agent …` resets the count.", pull, commit, times(attempts))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// maxGreen is the maximum number of listed checks.
const maxGreen = 20

// greenChecks lists the checks that passed on the commit.
func greenChecks(names []string) string { return "Passed checks: " + checkNames(names) + "." }

// checkNames lists the names of checks.
func checkNames(names []string) string {
	var out []string
	for _, n := range names[:min(len(names), maxGreen)] {
		out = append(out, code(line(n, 80)))
	}
	more := ""
	if n := len(names) - maxGreen; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(out, ", ") + more
}
