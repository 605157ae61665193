package command

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Question is a question that may be answered without the command word.
type Question struct {
	Text    string
	Choices []string
	Thread  bool // the answer is in the question's own review thread
}

// mark is part of each comment of the bot.
const mark = "<!-- handrail"

// MayAnswer reports whether a text without a command may answer a session that waits. It
// is cheap.
func MayAnswer(body string) bool {
	return !strings.Contains(body, mark) && strings.TrimSpace(body) != "" && len(body) <= maxText
}

// Answer returns the answer in a text without a command: a number or a label of a
// choice, the words below a quotation of the question, or all of it in the question's own
// thread. It reports false for everything else.
func (q Question) Answer(body string) (answer string, ok bool) {
	body = lines(body)
	if strings.Contains(body, mark) || len(body) > maxText { //control:own-words-no-answer
		return "", false
	}
	quoted, above, below := quotation(body)
	rest := cmp.Or(strings.TrimSpace(below), strings.TrimSpace(above))
	if choice, ok := q.choice(rest); ok && (quoted == "" || q.quotes(quoted)) {
		return choice, true
	}
	if rest != "" && (q.Thread || q.quotes(quoted)) {
		return rest, true
	}
	return "", false
}

var numbered = pattern.Lazy(`^#?(\d{1,2})[.)]?(?:[\s:–-]+(.*))?$`)

// choice reads a text that is a number or a label of a choice.
func (q Question) choice(text string) (string, bool) {
	said := bare(text)
	for _, c := range q.Choices {
		if said != "" && said == bare(c) {
			return c, true
		}
	}
	m := numbered().FindStringSubmatch(strings.Trim(text, " \t\n*_`!.,"))
	if m == nil {
		return "", false
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n < 1 || n > len(q.Choices) {
		return "", false
	}
	choice := q.Choices[n-1]
	if label := bare(m[2]); label != "" && label != bare(choice) {
		return "", false // a sentence that begins with a number
	}
	return choice, true
}

// bare reduces a text to lower-case words of letters, digits, + and #, with one space
// between them.
func bare(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '+' && r != '#'
	}), " ")
}

// quotation splits a text into its quotation and the text above and below.
func quotation(body string) (quoted, above, below string) {
	var q, up, down strings.Builder
	var f fence
	for line := range strings.Lines(body) {
		at := strings.TrimLeft(line, " ")
		switch {
		case !f.inside(line) && strings.HasPrefix(at, ">") && len(line)-len(at) <= 3:
			q.WriteString(strings.TrimLeft(at, "> "))
		case q.Len() == 0:
			up.WriteString(line)
		default:
			down.WriteString(line)
		}
	}
	return q.String(), up.String(), down.String()
}

// minQuoted is the minimum length of a partial quotation of a question, in characters.
const minQuoted = 12

// quotes reports whether a quotation is from the question.
func (q Question) quotes(quoted string) bool {
	said, question := bare(quoted), bare(q.Text)
	switch {
	case said == "" || question == "":
		return false
	case strings.Contains(" "+said+" ", " "+question+" "):
		return true
	}
	return utf8.RuneCountInString(said) >= minQuoted && strings.Contains(" "+question+" ", " "+said+" ")
}
