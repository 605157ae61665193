package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"time"
)

// Limits of the write-ahead log. It is copied into the file beside the writer; a writer that is
// faster than the copy copies it itself after maxLogPages pages. Of a log that was longer,
// maxLogBytes stay on the disk.
const (
	maxLogPages = 16_000
	maxLogBytes = 16 << 20
)

// copyDelay is the time between a write and the copy of the log into the file.
const copyDelay = 500 * time.Millisecond

// checkpointer copies the write-ahead log into the file, so that no commit waits for it.
type checkpointer struct {
	db    *sql.DB
	log   *slog.Logger
	wrote chan struct{}
	stop  context.CancelFunc
	done  chan struct{}
}

// newCheckpointer starts the copying, which ends with close and not with ctx.
func newCheckpointer(ctx context.Context, db *sql.DB, log *slog.Logger) *checkpointer {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &checkpointer{db: db, log: log, wrote: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	go c.loop(ctx)
	return c
}

// note tells of a write.
func (c *checkpointer) note() {
	select {
	case c.wrote <- struct{}{}:
	default:
	}
}

// close ends the copying.
func (c *checkpointer) close() {
	c.stop()
	<-c.done
}

func (c *checkpointer) loop(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-c.wrote:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(copyDelay):
		case <-ctx.Done():
			return
		}
		if _, err := c.db.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)"); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "copy the write-ahead log into the database", "err", err)
		}
	}
}
