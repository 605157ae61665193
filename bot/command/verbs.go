package command

import (
	"errors"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// errMisfit is the error of Args in a [Spec] for words that are no valid arguments. The
// reply explains the syntax of the command, and that of a task with the same first word.
var errMisfit = errors.New("no arguments of this command")

// isPause reports whether r separates a command from words about it.
func isPause(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;.!:–—…", r) }

// isMark reports whether r has no meaning after a command.
func isMark(r rune) bool { return isPause(r) || r == '?' }

var firstWord = pattern.Lazy(`^[^\s\p{Zs},;!…–—]*?(?:[.:?]*(?:[\s\p{Zs},;!…–—]|$))`)

// cutVerb cuts off the first word, without the marks after it.
func cutVerb(text string) (word, rest string) {
	word = strings.TrimRightFunc(firstWord().FindString(text), isMark)
	return word, text[len(word):]
}

// upToSpace returns the beginning of a text up to its first space.
func upToSpace(s string) string {
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i]
	}
	return s
}

// cutLine cuts off the first line, without marks at its ends.
func cutLine(rest string) (line, more string) {
	line, more, _ = strings.Cut(rest, "\n")
	return strings.TrimFunc(line, isMark), strings.TrimSpace(more)
}

// firstLine returns the text after a command's word on the same line.
func firstLine(rest string) string {
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

var taskWord = pattern.Lazy(`^(?i:task)\s*:\s*`)

// explicitTask parses a task that is marked as one: "task: stop the server".
func explicitTask(text string) (string, bool) {
	at := taskWord().FindStringIndex(text)
	if at == nil || at[1] == len(text) {
		return text, false
	}
	return text[at[1]:], true
}

// TakesText takes all of the text after a command.
func TakesText(c *Command, rest string) error {
	c.Text = strings.TrimSpace(strings.TrimLeftFunc(rest, isPause))
	return nil
}

// TakesNothing is for commands without arguments on their line.
func TakesNothing(c *Command, rest string) error {
	line, more := cutLine(rest)
	if c.Text = more; line != "" {
		return errMisfit
	}
	return nil
}

// TakesWords is for commands that pass words on to the agent. On the command's own line,
// they follow a pause ("retry, but slower").
func TakesWords(c *Command, rest string) error {
	line := firstLine(rest)
	if at := strings.TrimLeftFunc(line, isMark); at != "" && at == line && !strings.HasPrefix(line, "- ") {
		return errMisfit
	}
	return TakesText(c, rest)
}
