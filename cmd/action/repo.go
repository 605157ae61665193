package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/store/archive"
	"github.com/handrail-bot/handrail/bot/store/gitref"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/gitops"
)

// Repo is the repository with the refs of threads. It implements [gitref.Repo].
type Repo struct{ *gitops.Mirror }

// ReadRef implements [gitref.Repo].
func (r Repo) ReadRef(ctx context.Context, ref string) (map[string][]byte, string, error) {
	return r.RefFiles(ctx, ref)
}

// WriteRef implements [gitref.Repo].
func (r Repo) WriteRef(ctx context.Context, ref string, files map[string][]byte, old string) (string, error) {
	commit, err := r.PutRefFiles(ctx, ref, files, old)
	if errors.Is(err, gitops.ErrRejected) || errors.Is(err, gitops.ErrStale) {
		err = fmt.Errorf("%w: %w", gitref.ErrMoved, err)
	}
	return commit, err
}

// State returns the store of threads in refs, sealed if the run has a key. For away, see
// [threadref.Config].
func (r Run) State(away func(ctx context.Context, owner string) (bool, error)) (*threadref.Store, error) {
	s := threadref.New(threadref.Config{Away: away})
	return s, archive.Seal(s, r.Inputs.StateKey)
}

// Away reports whether the run that owns a lease has ended.
func Away(ctx context.Context, c *ghapp.Client, owner string) (bool, error) {
	id, attempt, ok := parseOwner(owner)
	if !ok { //control:leases-are-of-runs
		return true, nil // not the name of a run
	}
	return reads.RunEnded(ctx, c, id, attempt)
}
