package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// Default returns the default branch (without "refs/heads/") and the commit it
// is at, as of the last fetch. An empty repository and a HEAD that names no
// branch are errors that say so. For a local clone it is the branch that is
// checked out; branch is "" when HEAD is detached.
func (m *Mirror) Default(ctx context.Context) (branch, head string, err error) {
	at, err := m.head()
	if err != nil {
		return "", "", fmt.Errorf("read default branch: %w", err)
	}
	head, err = m.Resolve(ctx, at)
	if objects.IsID(at) {
		return "", head, err
	}
	if err == nil {
		return strings.TrimPrefix(at, "refs/heads/"), head, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return "", "", err
	}
	refs, err := m.localRefs(ctx, "refs/heads/")
	if err == nil && len(refs) == 0 {
		err = ErrEmpty
	} else if err == nil {
		err = ErrNoDefault
	}
	return "", "", err
}

// head returns what HEAD names: a ref, or a commit when it is detached.
func (m *Mirror) head() (string, error) {
	data, err := os.ReadFile(filepath.Join(m.gitDir, "HEAD"))
	return strings.TrimPrefix(strings.TrimSpace(string(data)), "ref: "), err
}

// localRefs returns the refs below a prefix with the objects they name.
func (m *Mirror) localRefs(ctx context.Context, prefix string) (map[string]string, error) {
	refs := map[string]string{}
	err := m.pool.Use(ctx, func(o *objects.DB) error {
		iter, err := o.IterReferences()
		if err != nil {
			return err
		}
		return iter.ForEach(func(r *plumbing.Reference) error {
			if r.Type() == plumbing.HashReference && strings.HasPrefix(r.Name().String(), prefix) {
				refs[r.Name().String()] = r.Hash().String()
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	return refs, nil
}

// Resolve returns the commit that rev names: a full or unique short id, a full
// ref name, a branch, a tag or "HEAD". Tags are followed to their commit. An
// unknown rev is [ErrNotFound].
func (m *Mirror) Resolve(ctx context.Context, rev string) (string, error) {
	var id plumbing.Hash
	err := m.pool.Use(ctx, func(o *objects.DB) error {
		h, err := m.lookup(o, rev)
		if err != nil {
			return err
		}
		id, err = o.Peel(h)
		return errors.Join(err, ctx.Err())
	})
	if errors.Is(err, plumbing.ErrObjectNotFound) || errors.Is(err, plumbing.ErrReferenceNotFound) {
		err = ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("resolve %q: %w", rev, err)
	}
	return id.String(), nil
}

func (m *Mirror) lookup(o *objects.DB, rev string) (plumbing.Hash, error) {
	if rev == "HEAD" {
		var err error
		if rev, err = m.head(); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	if objects.IsID(rev) {
		return plumbing.NewHash(rev), nil
	}
	for _, name := range []string{rev, "refs/heads/" + rev, "refs/tags/" + rev, "refs/remotes/" + rev} {
		if checkRef(name) != nil {
			continue
		}
		ref, err := storer.ResolveReference(o, plumbing.ReferenceName(name))
		if err == nil {
			return ref.Hash(), nil
		}
		if !errors.Is(err, plumbing.ErrReferenceNotFound) {
			return plumbing.ZeroHash, err
		}
	}
	return o.Short(rev)
}

// SetRef moves a ref to a commit if it is at old now ("" for a ref that must
// not exist yet); otherwise it is [ErrStale]. An empty commit deletes it. The
// name must pass the rules of this package, which are narrower than git's. In
// a mirror, refs/heads and refs/tags follow the remote and are refused: put
// your own refs under refs/handrail/. In a local clone, moving the branch that
// is checked out is refused, as the work tree would not follow.
func (m *Mirror) SetRef(ctx context.Context, ref, commit, old string) error {
	err := m.maySet(ref)
	if err == nil && commit != "" {
		if _, rerr := m.Resolve(ctx, commit); rerr != nil || !objects.IsID(commit) {
			err = fmt.Errorf("%q is not the id of a commit here", commit)
		}
	}
	if err == nil {
		err = m.pool.Sync() //control:synced-objects
	}
	if err == nil {
		err = m.refs.swap(ctx, ref, commit, func() error { return expected(ctx, m.pool, ref, old) })
	}
	if err != nil {
		return fmt.Errorf("set ref %s: %w", ref, err)
	}
	return nil
}

func (m *Mirror) maySet(ref string) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	if m.url != "" && followed(ref) {
		return fmt.Errorf("%w: %s follows the remote: use refs/handrail/ for refs of your own", errRefName, ref)
	}
	if at, err := m.head(); m.url == "" && err == nil && at == ref {
		return fmt.Errorf("%w: %s is checked out: use another branch", errRefName, ref)
	}
	return nil
}

// followed reports whether a ref of a mirror is what the remote has.
func followed(ref string) bool {
	return strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/tags/")
}

// expected returns [ErrStale] if a ref is not at old. One whose commit was lost
// counts as no ref.
func expected(ctx context.Context, pool *objects.Pool, ref, old string) error {
	err := pool.Use(ctx, func(o *objects.DB) error { return expect(o, ref, old) })
	if errors.Is(err, ErrNotFound) && old == "" {
		return nil
	}
	return err
}

func expect(o *objects.DB, ref, old string) error {
	now := ""
	r, err := storer.ResolveReference(o, plumbing.ReferenceName(ref))
	if err == nil {
		if now = r.Hash().String(); now != old && !o.Has(r.Hash()) {
			return plumbing.ErrObjectNotFound
		}
	} else if !errors.Is(err, plumbing.ErrReferenceNotFound) {
		return err
	}
	if now != old {
		return fmt.Errorf("%w: it is at %q, expected %q", ErrStale, now, old)
	}
	return nil
}
