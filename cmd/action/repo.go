package action

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/handrail-bot/handrail/bot/store/gitref"
	"github.com/handrail-bot/handrail/gitops"
)

// Repo is the repository with the refs of threads. It implements [gitref.Repo].
type Repo struct {
	Git *gitops.Store
	URL string

	once sync.Once
	repo *gitops.Mirror
	err  error
}

func (r *Repo) open(ctx context.Context) (*gitops.Mirror, error) {
	r.once.Do(func() { r.repo, r.err = r.Git.Bare(ctx, r.URL) })
	return r.repo, r.err
}

// ReadRef implements [gitref.Repo].
func (r *Repo) ReadRef(ctx context.Context, ref string) (map[string][]byte, string, error) {
	m, err := r.open(ctx)
	if err != nil {
		return nil, "", err
	}
	return m.RefFiles(ctx, ref)
}

// WriteRef implements [gitref.Repo].
func (r *Repo) WriteRef(ctx context.Context, ref string, files map[string][]byte, old string) (string, error) {
	m, err := r.open(ctx)
	if err != nil {
		return "", err
	}
	commit, err := m.PutRefFiles(ctx, ref, files, old)
	if errors.Is(err, gitops.ErrRejected) || errors.Is(err, gitops.ErrStale) {
		err = fmt.Errorf("%w: %w", gitref.ErrMoved, err)
	}
	return commit, err
}
