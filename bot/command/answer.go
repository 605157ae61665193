package command

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Question is what somebody was asked who may answer without the command word.
type Question struct {
	Text    string
	Choices []string
	Thread  bool // the answer stands in the question's own review thread
}

// mark is what each comment of the bot carries.
const mark = "<!-- handrail"

// MayAnswer reports whether a text without a command may answer something: it
// is short, quotes, or stands in a review thread. It takes next to no time.
func MayAnswer(body string, inThread bool) bool {
	if strings.Contains(body, mark) || strings.TrimSpace(body) == "" {
		return false
	}
	return inThread || utf8.RuneCountInString(strings.TrimSpace(body)) <= mostAnswer || strings.HasPrefix(body, ">") || strings.Contains(body, "\n>")
}

// mostAnswer is how long a number or the label of a choice can be, in
// characters.
const mostAnswer = 320

// Answered returns the answer in a text that has no command: a number or a
// label of a choice, the words below a quotation of the question, or all of it in
// the question's own thread. It reports false for everything else.
func (q Question) Answered(body string) (answer string, ok bool) {
	body = lines(body)
	if strings.Contains(body, mark) || len(body) > mostText { //control:own-words-no-answer
		return "", false
	}
	quoted, rest := quotation(body)
	rest = strings.TrimSpace(rest)
	if choice, ok := q.choice(rest); ok && (quoted == "" || q.quotedBy(quoted)) {
		return choice, true
	}
	if rest != "" && (q.Thread || q.quotedBy(quoted)) {
		return rest, true
	}
	return "", false
}

var numbered = regexp.MustCompile(`^(?i:(?:option|choice|number|answer|no\.?|nr\.?|#)\s*)?#?(\d{1,2})[.)]?(?:[\s:–-]+(.*))?$`)

// choice reads a text that is a number or a label of a choice.
func (q Question) choice(text string) (string, bool) {
	said := bare(text)
	for _, c := range q.Choices {
		if said != "" && said == bare(c) {
			return c, true
		}
	}
	m := numbered.FindStringSubmatch(strings.Trim(text, " \t\n*_`!.,"))
	if m == nil {
		return "", false
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n < 1 || n > len(q.Choices) {
		return "", false
	}
	choice := q.Choices[n-1]
	if label := bare(m[2]); label != "" && label != bare(choice) && !allIn(plain(m[2]), polite) {
		return "", false // a sentence that begins with a number
	}
	return choice, true
}

// bare is a text in lower case of which only letters and digits are left, one
// space between words, and nothing polite at its ends.
func bare(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '+' && r != '#'
	}), " ")
}

// quotation takes what a text quotes apart from the rest.
func quotation(body string) (quoted, rest string) {
	var q, r strings.Builder
	var f fence
	for line := range strings.Lines(body) {
		at := strings.TrimLeft(line, " ")
		if f.inside(line) || !strings.HasPrefix(at, ">") || len(line)-len(at) > 3 {
			r.WriteString(line)
			continue
		}
		q.WriteString(strings.TrimLeft(at, "> "))
	}
	return q.String(), attribution.ReplaceAllString(r.String(), "")
}

// leastQuoted is how much of a question has to be quoted when it is not all of
// it, in characters.
const leastQuoted = 12

// quotedBy reports whether a quotation is one of the question.
func (q Question) quotedBy(quoted string) bool {
	said, question := bare(quoted), bare(q.Text)
	switch {
	case said == "" || question == "":
		return false
	case strings.Contains(" "+said+" ", " "+question+" "):
		return true
	}
	return utf8.RuneCountInString(said) >= leastQuoted && strings.Contains(" "+question+" ", " "+said+" ")
}
