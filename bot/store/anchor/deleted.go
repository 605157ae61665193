package anchor

import (
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/secret"
)

func deletedText(d *store.Deleted) string {
	return fmt.Sprintf("deleted %s %d %s %s %q", d.Session, d.Seq, d.Hash, d.Time.UTC().Format(time.RFC3339Nano), d.Why)
}

// SignDeleted signs what is left of a session that is being deleted, so that a log which
// somebody took away is told from one that the server deleted. A nil key signs nothing.
func SignDeleted(key *secret.Key, d *store.Deleted) {
	if key != nil {
		d.Key, d.Sum = key.Name, key.Sign(deletedText(d))
	}
}

// CheckDeleted reports whether what is left of a session was signed with key. One that is
// not signed, or with a key that is not here, is no error.
func CheckDeleted(key *secret.Key, d *store.Deleted) (Report, error) {
	switch {
	case d.Key == "":
		return Report{}, nil
	case key == nil || key.Name != d.Key:
		return Report{Key: d.Key}, nil
	case !key.Signed(deletedText(d), d.Sum): //control:signed-deletions
		return Report{}, errors.New("the record that it was deleted was made without the key")
	}
	return Report{Signed: d.Seq}, nil
}
