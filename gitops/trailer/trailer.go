// Package trailer writes and reads commit messages: a text, and below it lines
// such as "Session: 4f2a" that only the program writes. No text can add a line
// to them.
package trailer

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Trailer is one "Key: value" line at the end of a commit message.
type Trailer struct{ Key, Value string }

// credit matches a line that would credit somebody, or sign off in their name,
// wherever it stands in a message: squash merges carry such lines along.
var credit = regexp.MustCompile(`(?mi)^([ \t]*)([A-Za-z0-9-]+-by[ \t]*:)`)

// Message returns a commit message with trailers as its last paragraph. Lines of
// the text that look like credits are made list items, which credit nobody.
func Message(text string, list []Trailer) string {
	msg := strings.TrimSpace(Clean(text))
	if msg == "" {
		msg = "Checkpoint"
	}
	msg = credit.ReplaceAllString(msg, "$1- $2") //control:no-forged-credit
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

// Clean drops control characters but newline and tab, and bytes that are no
// text. Every kind of line end becomes a newline.
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

// OneLine is a text as one line, with one space between words.
func OneLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Ident is a name or address as it may stand in a commit header.
func Ident(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>\n", r) {
			return -1
		}
		return r
	}, OneLine(s))
	return strings.Trim(s, ` .,:;"'`)
}

// Credit returns a trailer that names a person or bot.
func Credit(key, name, email string) Trailer {
	return Trailer{key, fmt.Sprintf("%s <%s>", Ident(name), Ident(email))}
}

// inKey reports whether a trailer's key may have the character.
func inKey(r rune) bool {
	return r == '-' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// Parse reads the trailers of a commit message: the last paragraph, if every line
// of it is "Key: value" and it is not the subject.
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

// Value returns the value of the first trailer of a message with that key, "" if
// there is none.
func Value(message, key string) string {
	for _, t := range Parse(message) {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}
