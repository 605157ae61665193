// Package trailer writes and reads commit messages with trailers such as
// "Session: 4f2a". Only the program writes trailers; the text cannot add any.
package trailer

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Trailer is one "Key: value" line at the end of a commit message.
type Trailer struct{ Key, Value string }

// credit matches a line that credits or signs off on behalf of an author, anywhere in
// a message: squash merges carry such lines along.
var credit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?mi)^([ \t]*)([A-Za-z0-9-]+-by[ \t]*:)`) })

// Message returns a commit message with trailers as its last paragraph. Lines of the
// text that look like credits become list items, which have no effect.
func Message(text string, list []Trailer) string {
	msg := strings.TrimSpace(Clean(text))
	if msg == "" {
		msg = "Checkpoint"
	}
	msg = credit().ReplaceAllString(msg, "$1- $2") //control:no-forged-credit
	var tail strings.Builder
	for _, t := range list {
		key := strings.Map(func(r rune) rune {
			if inKey(r) {
				return r
			}
			return -1
		}, t.Key)
		if value := OneLine(t.Value); key != "" && value != "" {
			fmt.Fprintf(&tail, "%s: %s\n", key, value)
		}
	}
	if tail.Len() == 0 {
		return msg + "\n"
	}
	return msg + "\n\n" + tail.String()
}

// Clean removes control characters except newline and tab, and replaces invalid UTF-8.
// It converts all line ends to newlines.
func Clean(s string) string {
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

// OneLine returns a cleaned text as one line, with single spaces between words.
func OneLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Ident returns a name or address in a form that is safe in a commit header.
func Ident(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>\n", r) {
			return -1
		}
		return r
	}, OneLine(s))
	return strings.Trim(s, ` .,:;"'`)
}

// Credit returns a trailer that names a user or bot.
func Credit(key, name, email string) Trailer {
	return Trailer{key, fmt.Sprintf("%s <%s>", Ident(name), Ident(email))}
}

// inKey reports whether a trailer's key may contain the character.
func inKey(r rune) bool {
	return r == '-' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// Parse reads the trailers of a commit message. They are the last paragraph, if it is
// not the subject and every line has the form "Key: value".
func Parse(message string) []Trailer {
	msg := strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n"))
	cut := strings.LastIndex(msg, "\n\n")
	if cut < 0 {
		return nil
	}
	var list []Trailer
	for line := range strings.SplitSeq(msg[cut+2:], "\n") {
		key, value, ok := strings.Cut(line, ": ")
		if !ok || key == "" || strings.ContainsFunc(key, func(r rune) bool { return !inKey(r) }) {
			return nil
		}
		list = append(list, Trailer{key, strings.TrimSpace(value)})
	}
	return list
}

// Value returns the value of the first trailer with the given key, or "" if there is
// none.
func Value(message, key string) string {
	for _, t := range Parse(message) {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}
