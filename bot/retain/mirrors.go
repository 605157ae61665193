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

// Mirrors removes the mirrors last used more than keep ago, and logs their number. A keep
// of 0 removes none. A mirror stays while a session of its repository is unfinished, or
// while it may hold the only copy of a session's saved work.
func (k Keeper) Mirrors(ctx context.Context, git *gitops.Store, keep time.Duration) error {
	if keep <= 0 {
		return nil
	}
	limit := k.now().Add(-keep)
	gone, kept, err := git.RemoveUnused(ctx, limit, k.needs)
	if gone+kept > 0 {
		k.Log.InfoContext(
			ctx, "removed mirrors that were not used for long", "removed", gone, "kept", kept, "before",
			limit.UTC().Format(time.RFC3339),
		)
	}
	return err
}

// needs reports whether a session may need commits that only this mirror has.
func (k Keeper) needs(ctx context.Context, m gitops.Unused) (bool, error) {
	for _, ref := range m.Own {
		id, ok := strings.CutPrefix(ref, gitops.SessionRefs)
		if !ok { // not a session's ref: its purpose is unknown
			return true, nil
		}
		if kept, err := k.mayResume(ctx, id); err != nil || kept { //control:saved-work-stays
			return true, err
		}
	}
	return k.hasUnfinished(ctx, m)
}

// mayResume reports whether a session may resume from its saved work. A stopped, failed or
// crashed session may, on a user's command.
func (k Keeper) mayResume(ctx context.Context, id string) (bool, error) {
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
	return true, err // an unknown session may still need it
}

// hasUnfinished reports whether the mirror's repository has an unfinished session.
func (k Keeper) hasUnfinished(ctx context.Context, m gitops.Unused) (bool, error) {
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
		q.Below = list[len(list)-1].Seq
	}
}
