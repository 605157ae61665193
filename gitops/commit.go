package gitops

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Signature is a person or bot in a commit.
type Signature struct{ Name, Email string }

// Trailer is one "Key: value" line at the end of a commit message.
type Trailer struct{ Key, Value string }

// Trailers that this package reads back.
const (
	TrailerSession = "Session"      // the session that made a checkpoint
	TrailerTurn    = "Turn"         // the turn of the session
	TrailerBy      = "Requested-by" // who asked
	TrailerUndoes  = "Undoes"       // ids of the checkpoints that an undo took back
	TrailerRedoes  = "Redoes"       // id of the undo that a redo took back
)

// Meta is what a commit says besides its tree.
type Meta struct {
	Message   string
	Trailers  []Trailer
	Author    Signature
	Committer Signature // empty means the author
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
			if r == '-' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
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

func (s Signature) header(when time.Time) string {
	name := ident(s.Name)
	if name == "" {
		name = "unknown"
	}
	return fmt.Sprintf("%s <%s> %d %s", name, ident(s.Email), when.Unix(), when.Format("-0700"))
}

// writeCommit stores a commit. A zero parent makes a first commit.
func (o *odb) writeCommit(tree, parent plumbing.Hash, m Meta) (plumbing.Hash, error) {
	if m.When.IsZero() {
		m.When = time.Now()
	}
	if m.Committer == (Signature{}) {
		m.Committer = m.Author
	}
	return o.writeRaw(rawCommit{tree, parent, m.Author.header(m.When), m.Committer.header(m.When), m.text()})
}

// rawCommit is a commit with its header lines as they are stored.
type rawCommit struct {
	tree, parent            plumbing.Hash
	author, committer, text string
}

func (o *odb) writeRaw(c rawCommit) (plumbing.Hash, error) {
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "tree %s\n", c.tree)
	if !c.parent.IsZero() {
		fmt.Fprintf(&buf, "parent %s\n", c.parent)
	}
	fmt.Fprintf(&buf, "author %s\ncommitter %s\n\n%s", c.author, c.committer, c.text)
	return o.write(plumbing.CommitObject, buf.Bytes())
}

// ParseTrailers reads the trailers of a commit message: the last paragraph,
// if every line of it is "Key: value" and it is not the subject.
func ParseTrailers(message string) []Trailer {
	msg := strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n"))
	cut := strings.LastIndex(msg, "\n\n")
	if cut < 0 {
		return nil
	}
	var list []Trailer
	for line := range strings.SplitSeq(msg[cut+2:], "\n") {
		key, value, ok := strings.Cut(line, ": ")
		if !ok || key == "" || strings.ContainsFunc(key, func(r rune) bool {
			return r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
		}) {
			return nil
		}
		list = append(list, Trailer{key, strings.TrimSpace(value)})
	}
	return list
}

// LogEntry is one commit of a history.
type LogEntry struct {
	ID       string
	Parents  []string
	Subject  string
	Message  string
	Author   Signature
	When     time.Time // of the author
	Trailers []Trailer
}

// Trailer gives the value of the first trailer with that key, "" if none.
func (e LogEntry) Trailer(key string) string {
	for _, t := range e.Trailers {
		if strings.EqualFold(t.Key, key) {
			return t.Value
		}
	}
	return ""
}

func logEntry(c *object.Commit) LogEntry {
	e := LogEntry{ID: c.Hash.String(), Message: c.Message, When: c.Author.When, Trailers: ParseTrailers(c.Message)}
	e.Subject, _, _ = strings.Cut(strings.TrimSpace(c.Message), "\n")
	e.Author = Signature{c.Author.Name, c.Author.Email}
	for _, p := range c.ParentHashes {
		e.Parents = append(e.Parents, p.String())
	}
	return e
}

// Log lists commits from a revision back along first parents, newest first,
// until a commit (not included; "" for the beginning), at most limit.
func (m *Mirror) Log(ctx context.Context, from, until string, limit int) ([]LogEntry, error) {
	head, err := m.Resolve(ctx, from)
	if err != nil {
		return nil, err
	}
	var list []LogEntry
	err = m.use(func(o *odb) error {
		list = nil
		for id := head; id != until && len(list) < limit; {
			if err := ctx.Err(); err != nil {
				return err
			}
			c, err := o.commit(id)
			if err != nil {
				return err
			}
			list = append(list, logEntry(c))
			if len(c.ParentHashes) == 0 {
				break
			}
			id = c.ParentHashes[0].String()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	return list, nil
}
