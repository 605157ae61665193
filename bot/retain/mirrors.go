package retain

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/gitops"
)

// Mirrors removes the mirrors that were used last before keep ago, and logs how many.
// With keep 0 it removes none. One stays while a session on its repository is not over, and
// while it may have the only copy of what a session saved.
func (k Keeper) Mirrors(ctx context.Context, git *gitops.Store, keep time.Duration) error {
	if keep <= 0 {
		return nil
	}
	limit := k.now().Add(-keep)
	gone, kept, err := git.RemoveUnused(ctx, limit, k.needs)
	if gone+kept > 0 {
		k.Log.InfoContext(ctx, "removed mirrors that were not used for long", "removed", gone, "kept", kept, "before", limit.UTC().Format(time.RFC3339))
	}
	return err
}

// needs reports whether a session may need what only this mirror has.
func (k Keeper) needs(ctx context.Context, m gitops.Unused) (bool, error) {
	for _, ref := range m.Own {
		id, ok := strings.CutPrefix(ref, gitops.SessionRefs)
		if !ok { // whoever made it knows what for
			return true, nil
		}
		if kept, err := k.holds(ctx, id); err != nil || kept { //control:saved-work-stays
			return true, err
		}
	}
	return k.awaited(ctx, m)
}

// holds reports whether a session may go on from what it saved. One that was stopped or
// broke off may, when a person says so.
func (k Keeper) holds(ctx context.Context, id string) (bool, error) {
	s, err := k.Store.Sessions.Session(ctx, id)
	if err == nil {
		return !s.State.Over() || s.State == session.PhaseStopped || s.State == session.PhaseFailed || s.State == session.PhaseCrashed, nil //control:broken-off-work-stays
	}
	if !errors.Is(err, store.ErrNotFound) {
		return true, err
	}
	list, err := k.Retired.Deleted(ctx)
	for _, d := range list {
		if d.Session == id {
			return false, err
		}
	}
	return true, err // nothing is known of it
}

// awaited reports whether a session of the mirror's repository is not over.
func (k Keeper) awaited(ctx context.Context, m gitops.Unused) (bool, error) {
	q := store.Query{Limit: page}
	for _, p := range session.Phases() {
		if !p.Over() {
			q.States = append(q.States, p)
		}
	}
	for {
		list, err := k.Store.Sessions.List(ctx, q)
		if err != nil {
			return true, err
		}
		for _, s := range list {
			if m.Of(s.Repo) { //control:mirror-of-the-living-stays
				return true, nil
			}
		}
		if len(list) < page {
			return false, nil
		}
		q.Before = list[len(list)-1].Created
	}
}
