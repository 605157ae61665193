package store

import (
	"context"
	"time"
)

// Vectors keeps the vectors of files, see package agent/index. maker identifies the
// model, blob the content. Rows can be made anew, so they are not exported.
type Vectors interface {
	// Vectors returns the rows of blobs, by blob. It notes that they were used.
	Vectors(ctx context.Context, maker string, blobs []string) (map[string][]byte, error)
	// PutVectors stores a row. A stored one stays as it is.
	PutVectors(ctx context.Context, maker, blob string, data []byte) error
	// PruneVectors deletes rows that were last used before a time, to the day, and returns
	// their number.
	PruneVectors(ctx context.Context, before time.Time) (int, error)
}
