package storetest

import (
	"context"
	"fmt"
	"io"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Export writes the log of a session, see [store.WriteLog].
func Export(ctx context.Context, from interface {
	Log(f store.Fence) session.Log
}, id string, w io.Writer) error {
	events, err := from.Log(store.Fence{Key: id}).Events(ctx, 0)
	if err != nil {
		return fmt.Errorf("export session: %w", err)
	}
	if len(events) == 0 {
		return fmt.Errorf("export session %s: %w", id, store.ErrNotFound)
	}
	return store.WriteLog(w, id, events)
}

// Import stores an exported log and returns the session's id. It refuses a torn log.
func Import(ctx context.Context, r io.Reader, to store.Logs) (string, error) {
	id, events, err := store.ReadLog(r)
	if err != nil {
		return id, fmt.Errorf("import session: %w", err)
	}
	if err := to.Import(ctx, id, events); err != nil {
		return id, err
	}
	return id, nil
}
