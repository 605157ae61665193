// Package retain deletes finished sessions, by age or on request, and leaves a record of
// each deletion. It also removes mirrors that are no longer used, and all data of a
// repository from which the App was uninstalled. anchor.go signs the ends of logs and of deletions.
package retain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Keeper deletes sessions.
type Keeper struct {
	Store   store.Store
	Retired store.Retired
	Key     *secret.Key      // signs records of deletion; nil leaves them unsigned
	Now     func() time.Time // nil means time.Now
	Log     *slog.Logger
}

func (k Keeper) now() time.Time {
	if k.Now == nil {
		return time.Now()
	}
	return k.Now()
}

// page is the number of sessions listed at once.
const page = 100

// Logs deletes the finished sessions last written to more than keep ago, and logs their
// number. A keep of 0 deletes none. A session that cannot be deleted is skipped and tried
// again the next time.
func (k Keeper) Logs(ctx context.Context, keep time.Duration) error {
	if keep <= 0 {
		return nil
	}
	limit := k.now().Add(-keep)
	heads, err := k.heads(ctx) // before the rows: a log that grows later is not deleted
	if err != nil {
		return err
	}
	old, err := k.oldSessions(ctx, limit)
	if err != nil || len(old) == 0 {
		return err
	}
	deleted, kept := 0, 0
	for _, s := range old {
		err := k.delete(ctx, s, heads[s.ID], fmt.Sprintf("retention.logs, after %d days", keep/(24*time.Hour)))
		switch {
		case errors.Is(err, store.ErrNotOver), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
			kept++ // resumed or deleted meanwhile
		case err != nil:
			return fmt.Errorf("delete old sessions: %d deleted, then: %w", deleted, err)
		default:
			deleted++
		}
	}
	k.Log.InfoContext(
		ctx, "deleted sessions that ended long ago", "deleted", deleted, "kept", kept, "before",
		limit.UTC().Format(time.RFC3339),
	)
	return nil
}

// oldSessions returns the finished sessions without a write since limit.
func (k Keeper) oldSessions(ctx context.Context, limit time.Time) (old []*store.Session, err error) {
	q := store.Query{Before: limit, Limit: page}
	for _, p := range session.Phases() {
		if p.Over() {
			q.States = append(q.States, p)
		}
	}
	for {
		list, err := k.Store.Sessions.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if s.Updated.Before(limit) { //control:delete-only-old
				old = append(old, s)
			}
		}
		if len(list) < page {
			return old, nil
		}
		q.Below = list[len(list)-1].Seq
	}
}

func (k Keeper) heads(ctx context.Context) (map[string]store.Head, error) {
	list, err := k.Store.Logs.Heads(ctx)
	heads := map[string]store.Head{}
	for _, h := range list {
		heads[h.Session] = h
	}
	return heads, err
}

// Delete deletes sessions on request, all or none. why is recorded.
func (k Keeper) Delete(ctx context.Context, why string, list ...*store.Session) error {
	heads, err := k.heads(ctx)
	if err != nil {
		return err
	}
	var all []*store.Deleted
	for _, s := range list {
		all = append(all, k.record(s, heads[s.ID], why))
	}
	return k.Retired.Delete(ctx, all...)
}

func (k Keeper) delete(ctx context.Context, s *store.Session, h store.Head, why string) error {
	return k.Retired.Delete(ctx, k.record(s, h, why))
}

// record returns the record of a deletion.
func (k Keeper) record(s *store.Session, h store.Head, why string) *store.Deleted {
	d := &store.Deleted{Head: h, Time: k.now().UTC().Truncate(time.Microsecond), Why: why}
	d.Session = s.ID // a session without a log has no head
	signDeleted(k.Key, d)
	return d
}
