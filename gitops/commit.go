package gitops

import (
	"cmp"
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// Signature is the name and email address of an author or committer.
type Signature struct{ Name, Email string }

// Trailer is one "Key: value" line at the end of a commit message.
type Trailer struct{ Key, Value string }

// The trailers of a checkpoint.
const (
	TrailerSession = "Session"      // the session that made the checkpoint
	TrailerTurn    = "Turn"         // the turn of the session
	TrailerBy      = "Requested-by" // who asked
)

// Meta is the metadata of a commit.
type Meta struct {
	Message   string
	Trailers  []Trailer
	Author    Signature
	Committer Signature // the zero value means the author
	CoAuthors []Signature
	SignOff   bool      // add the committer's Signed-off-by
	When      time.Time // zero means now
	Sign      Signer    // nil disables signing
	Merges    string    // the second parent; empty if there is none
}

// text returns the commit message with its trailers as the last paragraph.
func (m Meta) text() string {
	var list []trailer
	for _, t := range m.Trailers {
		list = append(list, trailer(t))
	}
	for _, s := range m.CoAuthors {
		list = append(list, credit("Co-authored-by", s.Name, s.Email))
	}
	if m.SignOff {
		by := m.committer()
		list = append(list, credit("Signed-off-by", by.Name, by.Email))
	}
	return withTrailers(m.Message, list)
}

func (m Meta) committer() Signature {
	if m.Committer == (Signature{}) {
		return m.Author
	}
	return m.Committer
}

func (s Signature) at(when time.Time) object.Signature {
	return object.Signature{Name: cmp.Or(cleanIdent(s.Name), "unknown"), Email: cleanIdent(s.Email), When: when}
}

// writeCommit stores a commit. Without parents it is a first commit.
func writeCommit(ctx context.Context, o *objects.DB, c object.Commit, m Meta) (plumbing.Hash, error) {
	if m.When.IsZero() {
		m.When = time.Now()
	}
	c.Author, c.Message = m.Author.at(m.When), m.text()
	c.Committer = m.committer().at(m.When)
	return m.Sign.write(ctx, o, c)
}
