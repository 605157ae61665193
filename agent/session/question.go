package session

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

var (
	questionStart = pattern.Lazy(`(?i)^\W*(why|what|how|where|when|who|which|is|are|does|do|did|can you (explain|tell|show|describe)|could you (explain|tell|describe)|explain|describe|tell me|summari[sz]e|list|show|compare|review|look at|find out|investigate)\b`)
	changeWord    = pattern.Lazy(`(?i)\b(fix|repair|solve|resolve|add|create|write|implement|build|make|change|modify|update|edit|rename|move|remove|delete|drop|replace|refactor|rewrite|convert|port|upgrade|bump|migrate|extend|extract|split|merge|clean ?up|format|correct|adjust|introduce|support|enable|disable|generate|set ?up|configure|improve|optimi[sz]e|translate|document|revert|undo|apply|insert|append|patch|handle)\w*`)
)

// Question reports whether a request can clearly be answered in words. It knows
// English only; anything else counts as a task.
func Question(text string) bool {
	if !questionStart().MatchString(text) {
		return false
	}
	_, rest, ok := strings.Cut(text, " and ") // "explain it and fix it"
	return !ok || !changeWord().MatchString(rest) || questionStart().MatchString(rest)
}

// minReasonWords is the minimum number of words in a reason: "n/a" and "none" are none.
const minReasonWords = 3

// Unchanged returns the reason that the model gave for not changing a file, or "" if
// it is too short to be one.
func (r *Result) Unchanged() string {
	if !r.Complete || len(strings.Fields(r.NoChange)) < minReasonWords {
		return ""
	}
	return strings.TrimSpace(r.NoChange)
}
