package render

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// NoApprover is the reason for refusing an approval in a scheduled session.
const NoApprover = "A scheduled run has no approver (unattended: deny). Do without it."

// ReviewDependencies is the task of reviewing a repository's dependencies.
const ReviewDependencies = "Look at what this repository depends on: manifests and lock files. Say which dependencies are declared and not used, used and not declared, " +
	"pinned differently in different places, or no longer maintained as far as the repository shows it. Name the file and the line of each."

// ReviewSince is the task of reviewing the new commits of a branch.
func ReviewSince(branch, from, to string) string {
	if from == "" {
		return fmt.Sprintf(
			"Review the newest commits of %s, up to %.12s: what is wrong in them, where, and how that shows.",
			line(branch, 100),
			to,
		)
	}
	return fmt.Sprintf(
		"Review what %s gained since %.12s, up to %.12s (git diff %.12s..%.12s): what is wrong in it, where, and how that shows.",
		line(branch, 100),
		from,
		to,
		from,
		to,
	)
}

// ReviewStale is the task of examining pull requests without activity.
func ReviewStale(numbers []int, days int) string {
	var out []string
	for _, n := range numbers {
		out = append(out, fmt.Sprintf("#%d", n))
	}
	return fmt.Sprintf(
		"These pull requests had no activity for %d days: %s. Read each with the tool github, and say in a line each what it waits for, and who could do what next.",
		days,
		strings.Join(out, ", "),
	)
}

// SortIssue is the task of a triage that was not asked for.
const SortIssue = "Sort this issue. There is no requester to ask: a question is for its author, and goes into triage_issue."

// SortedUnasked is the reason why such a triage began.
const SortedUnasked = "new issues are sorted here"

// Triage returns the comment with the words of a triage.
func Triage(said string) string { return limit(clean(said), maxBody) }

// BySchedule is the reason why a scheduled session began.
func BySchedule(name string) string { return "the schedule " + line(name, 80) + " started it" }

// ScheduleTitle is the title of a schedule's issue.
func ScheduleTitle(name string) string { return "Schedule: " + line(name, 80) }

// ScheduleBody returns the text of a schedule's issue, with the newest result.
func ScheduleBody(name, newest string) string {
	head := "Results of the schedule " + code(line(name, 80)) + ". A comment follows each change. You can close this issue; a new result reopens it."
	if newest == "" {
		return head
	}
	return limit(head+"\n\n---\n\n"+newest, maxBody)
}

// ScheduleResult returns the result of a scheduled session.
func ScheduleResult(s *session.State, pull int) string {
	var b strings.Builder
	outcome(&b, s.Outcome)
	if pull > 0 {
		fmt.Fprintf(&b, "Pull request: #%d\n\n", pull)
	}
	return limit(strings.TrimSpace(b.String()), maxBody)
}
