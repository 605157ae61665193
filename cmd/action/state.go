package action

import (
	"context"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/store/threadref"
)

// State returns the store of threads in refs, sealed if the run has a key. For away, see
// [threadref.Config].
func (r Run) State(away func(ctx context.Context, owner string) (bool, error)) (*threadref.Store, error) {
	s := threadref.New(threadref.Config{Away: away})
	return s, threadref.Seal(s, r.Inputs.StateKey)
}

// Away reports whether the run that owns a lease has ended.
func Away(ctx context.Context, c *ghapp.Client, owner string) (bool, error) {
	id, attempt, ok := parseOwner(owner)
	if !ok { //control:leases-are-of-runs
		return true, nil // not the name of a run
	}
	return reads.RunEnded(ctx, c, id, attempt)
}
