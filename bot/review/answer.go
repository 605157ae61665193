package review

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// no and yes match the beginning of an answer that rejects or accepts a finding. "No
// idea" is neither; "no problem, will do" accepts it.
var (
	no = pattern.Lazy(
		`(?i)^\W*(?:no(?:pe|h|n)?(?:\W*$|\s*[.,;:!–—-])|nah\b|(?:i )?(?:disagree|don'?t agree|do not agree)\b|` +
			`(?:(?:this|that|it)(?:'s| is)? )?(?:(?:works )?(?:as|is) (?:intended|designed|expected)|by design|on purpose|intended|intentional|deliberate|(?:a )?false positive|not (?:a |an )?(?:bug|fault|issue|problem)|wrong|invalid|not (?:true|wrong|right))\b|` +
			`(?:we |i )?(?:won'?t|will not) (?:fix|change|do)|wontfix\b|(?:please )?(?:leave|keep) (?:it|this|that|as)\b|👎)`,
	)
	yes = pattern.Lazy(
		`(?i)^\W*(?:yes|yep|yeah|right|true|agreed?|good (?:catch|find)|you(?:'re| are) right|fixed|done|ok(?:ay)?|thanks?|will (?:fix|do)|no (?:problem|worries),|👍)`,
	)
	// plainNo matches phrases that begin with "no" but reject nothing.
	plainNo = pattern.Lazy(`(?i)^\W*no(?:pe)?[,.;:!–— -]+(?:problem|worries|idea|doubt|objections?)\b`)
)

// answersNo reports whether a reply to a finding rejects it, or says that the code stays.
// said is false if the reply neither rejects nor accepts it. Quoted lines are ignored.
func answersNo(text string) (isNo, said bool) {
	for l := range strings.SplitSeq(strings.ReplaceAll(text, "’", "'"), "\n") {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, ">") || strings.HasPrefix(l, "<!--") {
			continue
		}
		if no().MatchString(l) && !plainNo().MatchString(l) {
			return true, true
		}
		return false, yes().MatchString(l)
	}
	return false, false
}

// gone reports whether the commented lines are missing from all files. They are the last
// n lines of hunk. It reports false for lines without a letter or a digit, which are too
// common to tell.
func gone(hunk string, n int, files []string) bool {
	var code []string
	telling := false
	for l := range strings.SplitSeq(strings.TrimRight(hunk, "\n"), "\n") {
		if l == "" || l[0] == '-' || l[0] == '\\' || strings.HasPrefix(l, "@@") {
			continue
		}
		code = append(code, strings.TrimRight(l[1:], " \t\r"))
	}
	if n < 1 || len(code) < n {
		return false
	}
	code = code[len(code)-n:]
	for _, l := range code {
		telling = telling || strings.ContainsAny(strings.ToLower(l), "abcdefghijklmnopqrstuvwxyz0123456789")
	}
	if !telling {
		return false
	}
	for _, text := range files {
		if has(text, code) {
			return false
		}
	}
	return true
}

// has reports whether text contains the lines in sequence. Indentation is ignored:
// wrapped code is still there.
func has(text string, code []string) bool {
	list := strings.Split(text, "\n")
	for i := 0; i+len(code) <= len(list); i++ {
		here := true
		for k, l := range code {
			here = here && strings.TrimSpace(list[i+k]) == strings.TrimSpace(l)
		}
		if here {
			return true
		}
	}
	return false
}
