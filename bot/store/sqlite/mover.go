package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"sync/atomic"
)

// moveEvery is the number of commits after which pages move. A commit has 5 to 10 pages.
const moveEvery = 100

// mover moves committed pages from the write-ahead log into the file while others write.
// Otherwise every hundredth write would do so, and wait for the disk twice more.
type mover struct {
	db      *sql.DB
	log     *slog.Logger
	commits atomic.Int64
	due     chan struct{}
	end     context.CancelFunc
	ended   chan struct{}
}

// startMover starts a mover that outlives ctx. The caller must close it.
func startMover(ctx context.Context, c Config) (*mover, error) {
	db, err := c.connection(1, nil)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	m := &mover{db: db, log: c.Log, due: make(chan struct{}, 1), end: end, ended: make(chan struct{})}
	go m.run(ctx)
	return m, nil
}

func (m *mover) run(ctx context.Context) {
	defer close(m.ended)
	for {
		select {
		case <-m.due:
			// PASSIVE waits for nobody: pages that are still read stay for the next time.
			if _, err := m.db.ExecContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`); err != nil && ctx.Err() == nil {
				m.log.WarnContext(ctx, "move pages into the database", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// committed counts a commit.
func (m *mover) committed() {
	if m.commits.Add(1)%moveEvery != 0 {
		return
	}
	select {
	case m.due <- struct{}{}:
	default: // the mover is at work
	}
}

func (m *mover) close() error {
	m.end()
	<-m.ended
	return m.db.Close()
}

// counted is a transaction that a mover counts.
type counted struct {
	*sql.Tx

	moves *mover
}

// Commit implements [sqlstore.Tx].
func (t counted) Commit() error {
	err := t.Tx.Commit()
	if err == nil {
		t.moves.committed()
	}
	return err
}
