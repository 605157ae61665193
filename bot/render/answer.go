package render

import (
	"fmt"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
)

const (
	maxInline  = 20000 // maximum characters of an answer inside other comments
	answerRoom = 60000 // maximum characters of an answer in its own comment, before filtering
	maxParts   = 12    // maximum number of comments of one answer
)

// long reports whether an answer needs comments of its own.
func long(o *session.Outcome) bool { return o != nil && utf8.RuneCountInString(o.Summary) > maxInline }

// Answer returns the comments with a run's answer if it is too long for another
// comment, and none otherwise.
func Answer(s *session.State) []string {
	if !long(s.Outcome) {
		return nil
	}
	parts := splitToFit(clean(s.Outcome.Summary), answerRoom)
	missing := 0
	for len(parts) > maxParts {
		last := len(parts) - 1
		missing += utf8.RuneCountInString(parts[last])
		parts = parts[:last]
	}
	parts = numberParts("Answer", parts)
	if missing > 0 {
		parts[len(parts)-1] += fmt.Sprintf(
			"\n---\n\nI stop here: an answer gets at most %d comments, and %s are missing. Ask for the rest with `/agent …`.\n",
			maxParts,
			phrase.Count(missing, "character"),
		)
	}
	return parts
}

// numberParts numbers the parts, if there are several.
func numberParts(what string, parts []string) []string {
	for i := range parts {
		if len(parts) > 1 {
			parts[i] = fmt.Sprintf("**%s, %d of %d**\n\n%s", what, i+1, len(parts), parts[i]) //control:answer-parts
		}
		parts[i] += "\n"
	}
	return parts
}

// splitToFit splits a text so that each part fits into a comment after filtering, which
// can lengthen it.
func splitToFit(s string, room int) []string {
	var out []string
	for _, part := range markdown(s, room) {
		safe := clean(part)
		if size := utf8.RuneCountInString(safe); size > maxBody-500 && room > 2000 {
			out = append(out, splitToFit(part, room/2)...)
			continue
		}
		out = append(out, safe)
	}
	return out
}

// summary returns a run's answer, or a pointer to the comments that hold it.
func summary(o *session.Outcome) string {
	switch {
	case o == nil:
		return ""
	case o.Summary == "":
		return testResults(o)
	case long(o):
		return "The answer is long, so it has comments of its own.\n\n" + testResults(o)
	}
	return clean(o.Summary) + "\n\n" + testResults(o)
}

// testResults returns the test results observed by Handrail. It contains no text of the
// model.
func testResults(o *session.Outcome) string {
	if o.Tests == "" {
		return ""
	}
	return "Seen by Handrail: " + words(o.Tests) + "\n\n" //control:tests-are-told
}

// summaryFor is summary for a thread other than the session's: it shows the beginning
// of a long answer.
func summaryFor(o *session.Outcome, thread int) string {
	if !long(o) {
		return summary(o)
	}
	beginning := splitToFit(clean(o.Summary), maxInline)[0]
	return beginning + fmt.Sprintf("\n\nThe rest is long: the whole answer is in my comments in #%d.\n\n", thread) + testResults(o)
}
