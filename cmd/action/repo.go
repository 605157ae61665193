package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/bot/store/gitref"
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
