package command

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
)

// errMisfit is what the Args of a [Spec] return for words that are no arguments of the
// command: the reply tells how it is written, and how a task is that begins like it.
var errMisfit = errors.New("no arguments of this command")

// isPause reports whether r stands between a command and words about it.
func isPause(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;.!:–—…", r) }

// isMark reports whether r says nothing behind a command.
func isMark(r rune) bool { return isPause(r) || r == '?' }

var firstWord = regexp.MustCompile(`^[^\s\p{Zs},;!…–—]*?(?:[.:?]*(?:[\s\p{Zs},;!…–—]|$))`)

// cutVerb cuts off the first word, without the marks behind it.
func cutVerb(text string) (word, rest string) {
	word = strings.TrimRightFunc(firstWord.FindString(text), isMark)
	return word, text[len(word):]
}

func cutWord(s string) (word, rest string) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// cutLine cuts off the first line, without the marks around its words.
func cutLine(rest string) (line, more string) {
	line, more, _ = strings.Cut(rest, "\n")
	return strings.TrimFunc(line, isMark), strings.TrimSpace(more)
}

// firstLine is the line on which a command stands, behind its word.
func firstLine(rest string) string {
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

var taskWord = regexp.MustCompile(`^(?i:task)\s*:\s*`)

// explicitTask reads a task that is written as one: "task: stop the server".
func explicitTask(text string) (string, bool) {
	at := taskWord.FindStringIndex(text)
	if at == nil || at[1] == len(text) {
		return text, false
	}
	return text[at[1]:], true
}

// TakesText keeps what stands behind a command as text, whatever it is.
func TakesText(c *Command, rest string) error {
	c.Text = strings.TrimSpace(strings.TrimLeftFunc(rest, isPause))
	return nil
}

// TakesNothing is for commands that stand alone on their line.
func TakesNothing(c *Command, rest string) error {
	line, more := cutLine(rest)
	if c.Text = more; line != "" {
		return errMisfit
	}
	return nil
}

// TakesWords is like [TakesNothing] for commands that pass words on to the agent: these
// stand behind a pause ("retry, but slower") or below.
func TakesWords(c *Command, rest string) error {
	line := firstLine(rest)
	if at := strings.TrimLeftFunc(line, isMark); at != "" && at == line && !strings.HasPrefix(line, "- ") {
		return errMisfit
	}
	return TakesText(c, rest)
}
