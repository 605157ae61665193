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

// SignDeleted signs the record of a deleted session, which distinguishes a deletion by
// the server from a removed log. A nil key disables signing.
func SignDeleted(key *secret.Key, d *store.Deleted) {
	if key != nil {
		d.Key, d.Sum = key.Name, key.Sign(deletedText(d))
	}
}

// CheckDeleted checks the signature of a deletion record. A record that is unsigned, or
// signed with an unavailable key, is no error.
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
