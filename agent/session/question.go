package session

import "strings"

// questionMarks end a question, whatever its language.
const questionMarks = "?？؟"

// IsQuestion reports whether a text ends with a question mark.
func IsQuestion(text string) bool {
	last := []rune(strings.TrimRight(text, " \t\r\n!)"))
	return len(last) > 0 && strings.ContainsRune(questionMarks, last[len(last)-1])
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
