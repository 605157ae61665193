package render

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
)

// CheckName is the name of the check run that shows a session on its commits.
const CheckName = "Handrail"

var conclusions = map[session.Phase]string{
	session.PhaseDone:    "success", // no other phase is a success: the model's claims prove nothing
	session.PhaseStopped: "cancelled", session.PhaseFailed: "failure", session.PhaseCrashed: "failure",
	session.PhaseAwaitingApproval: "action_required", session.PhaseAwaitingAnswer: "action_required", session.PhaseOutOfBudget: "action_required",
}

// Conclusion returns GitHub's conclusion for a session that is not running.
func Conclusion(p session.Phase) string {
	if c, ok := conclusions[p]; ok {
		return c
	}
	return "neutral"
}

// Sign returns the reaction that shows a session's state if comments are impossible.
func Sign(p session.Phase) string {
	switch p {
	case session.PhaseDone, session.PhaseAnswered, session.PhasePlanned, session.PhaseReviewed:
		return "rocket"
	}
	return "confused"
}

// CheckTitle returns the line that GitHub shows next to a check run.
func CheckTitle(s *session.State) string {
	t := string(s.Phase)
	if takenBack(s) != "" {
		t = withdrawn
	}
	if len(s.Files) > 0 {
		t += fmt.Sprintf(" · %s, %s", phrase.Count(len(s.Files), "file"), counts(total(s.Files)))
	}
	return t
}

// CheckSummary returns the text of a completed check run. turnedAway is the requester
// who got no answer, and the reason; empty if there is none.
func CheckSummary(s *session.State, turnedAway string) string {
	var b strings.Builder
	if s.Outcome != nil {
		outcome(&b, s.Outcome)
	}
	waiting(&b, s.Open(), Links{})
	files(&b, s.Files, since(s))
	b.WriteString(next(s) + "\n")
	if turnedAway != "" {
		fmt.Fprintf(&b, "\nNot answered: %s\n", sentence(line(clean(turnedAway), 300)))
	}
	return limit(b.String(), maxBody)
}
