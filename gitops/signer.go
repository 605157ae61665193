package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// Signer signs a commit and must not change anything else. Its arguments are the id and
// the content of the unsigned commit, as git stores it.
type Signer func(ctx context.Context, id string, commit []byte) ([]byte, error)

// write stores a commit, and returns the id of its signed form.
func (s Signer) write(ctx context.Context, o *objects.DB, c object.Commit) (plumbing.Hash, error) {
	id, err := o.WriteCommit(c)
	if err != nil || s == nil {
		return id, err
	}
	raw, err := o.Raw(id)
	if err != nil {
		return id, err
	}
	signed, err := s(ctx, id.String(), raw)
	if err != nil {
		return id, fmt.Errorf("sign commit: %w", err)
	}
	if id, err = o.Write(plumbing.CommitObject, signed); err != nil {
		return id, err
	}
	got, err := o.Commit(id.String())
	if err == nil && !objects.Same(got, &c) { //control:signed-is-the-same
		err = fmt.Errorf("sign commit: the signature is of another commit, %s", id)
	}
	return id, err
}

// CommitID returns the id of a commit as git stores it.
func CommitID(commit []byte) string {
	return plumbing.ComputeHash(plumbing.CommitObject, commit).String()
}

// Twin searches a branch of the remote, and those beside it, for the signed form of a
// commit. It returns nil if there is none. The signed form has the same tree, parents and
// message, which names the session and turn.
func (m *Mirror) Twin(ctx context.Context, branch, id string) (found []byte, err error) {
	if err := m.Fetch(ctx); err != nil {
		return nil, err
	}
	for n := 1; n <= 9; n++ {
		head, err := m.Resolve(ctx, besideName("refs/heads/"+branch, n))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil {
			err = m.pool.Use(ctx, func(o *objects.DB) error {
				c, err := o.Commit(id)
				if err == nil {
					found, err = o.Twin(ctx, head, c)
				}
				return err
			})
		}
		if err != nil || found != nil {
			return found, err
		}
	}
	return nil, nil
}
