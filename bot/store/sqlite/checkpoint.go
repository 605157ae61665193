package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"strconv"
	"sync/atomic"
)

// SQLite moves the pages of its log into the file when a commit finds the log long, and that
// commit waits for the disk three times. A checkpointer does it beside the commits, which do it
// themselves only if the log outgrows it. It moves few at a time, since the syncs of commits wait
// for what the disk writes.
const (
	checkpointAfter = 16      // transactions
	maxLog          = 1 << 14 // pages, 64 MiB
)

// writerPragma is the limit of the connection that writes.
var writerPragma = "wal_autocheckpoint(" + strconv.Itoa(maxLog) + ")"

// checkpointer moves pages while others write. It is safe for concurrent use.
type checkpointer struct {
	db    *sql.DB
	log   *slog.Logger
	begun atomic.Int64
	due   chan struct{}
	end   context.CancelFunc
	ended chan struct{}
}

func newCheckpointer(ctx context.Context, db *sql.DB, log *slog.Logger) *checkpointer {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &checkpointer{db: db, log: log, due: make(chan struct{}, 1), end: end, ended: make(chan struct{})}
	go c.run(ctx)
	return c
}

// count notes the begin of a transaction.
func (c *checkpointer) count() {
	if c.begun.Add(1)%checkpointAfter != 0 {
		return
	}
	select {
	case c.due <- struct{}{}:
	default:
	}
}

func (c *checkpointer) run(ctx context.Context) {
	defer close(c.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.due:
		}
		// PASSIVE waits for nobody, and nobody waits for it.
		if _, err := c.db.ExecContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "move the database's log into its file", "err", err)
		}
	}
}

// Close waits for a running checkpoint.
func (c *checkpointer) Close() error {
	c.end()
	<-c.ended
	return c.db.Close()
}
