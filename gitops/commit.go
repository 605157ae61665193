package gitops

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// Signature is a person or bot in a commit.
type Signature struct{ Name, Email string }

// Trailer is one "Key: value" line at the end of a commit message.
type Trailer struct{ Key, Value string }

// The trailers of a checkpoint.
const (
	TrailerSession = "Session"      // the session that made it
	TrailerTurn    = "Turn"         // the turn of the session
	TrailerBy      = "Requested-by" // who asked
)

// Meta is what a commit says besides its tree.
type Meta struct {
	Message   string
	Trailers  []Trailer
	Author    Signature // and committer
	CoAuthors []Signature
	When      time.Time // zero means now
}

// text is the commit message with its trailers as last paragraph.
func (m Meta) text() string {
	msg := strings.TrimSpace(cleanText(m.Message))
	if msg == "" {
		msg = "Checkpoint"
	}
	var tail strings.Builder
	line := func(key, value string) {
		key = strings.Map(func(r rune) rune {
			if inKey(r) {
				return r
			}
			return -1
		}, key)
		if value = oneLine(value); key != "" && value != "" {
			fmt.Fprintf(&tail, "%s: %s\n", key, value)
		}
	}
	for _, t := range m.Trailers {
		line(t.Key, t.Value)
	}
	for _, s := range m.CoAuthors {
		line("Co-authored-by", fmt.Sprintf("%s <%s>", ident(s.Name), ident(s.Email)))
	}
	if tail.Len() == 0 {
		return msg + "\n"
	}
	return msg + "\n\n" + tail.String()
}

// cleanText drops control characters but newline and tab, and bytes that are
// no text.
func cleanText(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(cleanText(s)), " ") }

// ident is a name or address as it may stand in a commit header.
func ident(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>\n", r) {
			return -1
		}
		return r
	}, oneLine(s))
	return strings.Trim(s, ` .,:;"'`)
}

func (s Signature) at(when time.Time) object.Signature {
	return object.Signature{Name: cmp.Or(ident(s.Name), "unknown"), Email: ident(s.Email), When: when}
}

// writeCommit stores a commit. A zero parent makes a first commit.
func writeCommit(o *objects.DB, tree, parent plumbing.Hash, m Meta) (plumbing.Hash, error) {
	if m.When.IsZero() {
		m.When = time.Now()
	}
	author := m.Author.at(m.When)
	return o.WriteCommit(parent, object.Commit{TreeHash: tree, Author: author, Committer: author, Message: m.text()})
}

// inKey reports whether a trailer's key may have the character.
func inKey(r rune) bool {
	return r == '-' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// parseTrailers reads the trailers of a commit message: the last paragraph,
// if every line of it is "Key: value" and it is not the subject.
func parseTrailers(message string) []Trailer {
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

// trailer returns the value of the first trailer of a message with that key,
// "" if there is none.
func trailer(message, key string) string {
	for _, t := range parseTrailers(message) {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}
