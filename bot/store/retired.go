package store

import (
	"context"
	"time"
)

// Retired deletes finished sessions, and keeps a record of each deletion.
type Retired interface {
	// Delete deletes sessions with their logs and intents, all or none, and keeps their
	// records. It fails with [ErrNotOver] if a session is unfinished, it or its thread is
	// worked on, or a delivery or an intent waits; with [ErrConflict] if its log does not
	// end as in its record; and with [ErrNotFound].
	Delete(ctx context.Context, list ...*Deleted) error
	// Deleted returns the records of deleted sessions, ordered by session. It omits
	// sessions with a log that was imported again.
	Deleted(ctx context.Context) ([]Deleted, error)
}

// Deleted is the record of a deleted session.
type Deleted struct {
	Head

	Time time.Time `json:"time"`
	Why  string    `json:"why"`

	Key string `json:"key,omitempty"` // name of the key that signed the record
	Sum string `json:"sum,omitempty"`
}
