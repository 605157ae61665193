package store

import (
	"context"
	"time"
)

// Retired deletes sessions that are over. What is left of one says that it was deleted.
type Retired interface {
	// Delete deletes a session with its log and its intents, and keeps d. It fails with [ErrNotOver] when the session has not ended, when it or its
	// thread is worked on, or when a delivery or an intent waits; with [ErrConflict] when
	// its log does not end as d says; and with [ErrNotFound].
	Delete(ctx context.Context, d *Deleted) error
	// Deleted returns what is left of sessions that were deleted, ordered by session. One
	// whose log was imported again is not among them.
	Deleted(ctx context.Context) ([]Deleted, error)
}

// Deleted is what is left of a session that was deleted.
type Deleted struct {
	Head

	Time time.Time `json:"time"`
	Why  string    `json:"why"`

	Key string `json:"key,omitempty"` // name of the key that signed the rest
	Sum string `json:"sum,omitempty"`
}
