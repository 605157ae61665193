package retain

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

// signDeleted signs the record of a deleted session, which distinguishes a deletion by
// the server from a removed log. A nil key disables signing.
func signDeleted(key *secret.Key, d *store.Deleted) {
	if key != nil {
		d.Key, d.Sum = key.Name, key.Sign(deletedText(d))
	}
}

// CheckDeleted checks the signature of a deletion record. A record that is unsigned, or
// signed with an unavailable key, is no error.
func CheckDeleted(key *secret.Key, d *store.Deleted) (LogReport, error) {
	switch {
	case d.Key == "":
		return LogReport{}, nil
	case key == nil || key.Name != d.Key:
		return LogReport{Key: d.Key}, nil
	case !key.Signed(deletedText(d), d.Sum): //control:signed-deletions
		return LogReport{}, errors.New("the record that it was deleted was made without the key")
	}
	return LogReport{Signed: d.Seq}, nil
}
