package gitops

// Commit messages end with trailers such as "Session: 4f2a". Only the program writes trailers; the text cannot add any.

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// trailer is one "Key: value" line at the end of a commit message.
type trailer struct{ Key, Value string }

// creditLine matches a line that credits or signs off on behalf of an author, anywhere in
// a message: squash merges carry such lines along.
var creditLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?mi)^([ \t]*)([A-Za-z0-9-]+-by[ \t]*:)`) })

// withTrailers returns a commit message with trailers as its last paragraph. Lines of the
// text that look like credits become list items, which have no effect.
func withTrailers(text string, list []trailer) string {
	msg := strings.TrimSpace(cleanText(text))
	if msg == "" {
		msg = "Checkpoint"
	}
	msg = creditLine().ReplaceAllString(msg, "$1- $2") //control:no-forged-credit
	var tail strings.Builder
	for _, t := range list {
		key := strings.Map(func(r rune) rune {
			if inKey(r) {
				return r
			}
			return -1
		}, t.Key)
		if value := oneLine(t.Value); key != "" && value != "" {
			fmt.Fprintf(&tail, "%s: %s\n", key, value)
		}
	}
	if tail.Len() == 0 {
		return msg + "\n"
	}
	return msg + "\n\n" + tail.String()
}

// cleanText removes control characters except newline and tab, and replaces invalid UTF-8.
// It converts all line ends to newlines.
func cleanText(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r == '\n' || r == '\t' || !unicode.IsControl(r):
			return r
		}
		return -1
	}, s)
}

// oneLine returns a cleaned text as one line, with single spaces between words.
func oneLine(s string) string { return strings.Join(strings.Fields(cleanText(s)), " ") }

// cleanIdent returns a name or address in a form that is safe in a commit header.
func cleanIdent(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>\n", r) {
			return -1
		}
		return r
	}, oneLine(s))
	return strings.Trim(s, ` .,:;"'`)
}

// credit returns a trailer that names a user or bot.
func credit(key, name, email string) trailer {
	return trailer{key, fmt.Sprintf("%s <%s>", cleanIdent(name), cleanIdent(email))}
}

// inKey reports whether a trailer's key may contain the character.
func inKey(r rune) bool {
	return r == '-' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// parseTrailers reads the trailers of a commit message. They are the last paragraph, if it is
// not the subject and every line has the form "Key: value".
func parseTrailers(message string) []trailer {
	msg := strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n"))
	cut := strings.LastIndex(msg, "\n\n")
	if cut < 0 {
		return nil
	}
	var list []trailer
	for line := range strings.SplitSeq(msg[cut+2:], "\n") {
		key, value, ok := strings.Cut(line, ": ")
		if !ok || key == "" || strings.ContainsFunc(key, func(r rune) bool { return !inKey(r) }) {
			return nil
		}
		list = append(list, trailer{key, strings.TrimSpace(value)})
	}
	return list
}

// trailerValue returns the value of the first trailer with the given key, or "" if there is
// none.
func trailerValue(message, key string) string {
	for _, t := range parseTrailers(message) {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}
