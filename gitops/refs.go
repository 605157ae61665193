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

// Default returns the default branch (without "refs/heads/") and its commit, as of the
// last fetch. The error is [ErrEmpty] for an empty repository, and [ErrNoDefault] if HEAD
// names a missing branch. In a local clone the result is the checked out branch; branch
// is empty if HEAD is detached.
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

// head returns the target of HEAD: a ref, or a commit if it is detached.
func (m *Mirror) head() (string, error) {
	data, err := os.ReadFile(filepath.Join(m.gitDir, "HEAD"))
	return strings.TrimPrefix(strings.TrimSpace(string(data)), "ref: "), err
}

// localRefs returns the refs below a prefix, with the ids of their objects.
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

// Resolve returns the commit for rev: a full or unique short id, a full ref name, a
// branch, a tag or "HEAD". Tags are followed to their commit. An unknown rev is
// [ErrNotFound].
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

// Tip returns the commit of a branch as it is now, on the remote or in a local clone, or "" if the branch
// is missing. ref is "refs/heads/…".
func (m *Mirror) Tip(ctx context.Context, ref string) (string, error) {
	if m.url != "" {
		if err := m.Fetch(ctx); err != nil {
			return "", err
		}
	}
	at, err := m.Resolve(ctx, ref)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return at, err
}

// Descends reports whether a commit is another one, or has it among its ancestors. Both are full ids.
func (m *Mirror) Descends(ctx context.Context, commit, ancestor string) (is bool, err error) {
	err = m.pool.Use(ctx, func(o *objects.DB) (err error) {
		is, err = objects.Descends(ctx, o, plumbing.NewHash(commit), plumbing.NewHash(ancestor))
		return err
	})
	return is, err
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

// SetRef moves a ref from old to commit. An empty old means that the ref must not exist,
// and an empty commit deletes it. If the ref is not at old, the error is [ErrStale]. The
// rules for names are stricter than git's. In a mirror, refs/heads and refs/tags follow
// the remote and are refused: put your own refs under refs/handrail/. In a local clone,
// the checked out branch is refused, because the work tree would not follow.
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

// move is [Mirror.push] in a local clone: it moves the branch if the work contains
// its commits.
func (m *Mirror) move(ctx context.Context, p Push) (made bool, err error) {
	now, err := m.Resolve(ctx, p.Ref)
	if errors.Is(err, ErrNotFound) {
		now, err = "", nil
	}
	if err != nil || now == p.Commit {
		return false, err
	}
	if err := m.pool.Use(ctx, func(o *objects.DB) error {
		return p.fastForward(ctx, o, plumbing.NewHash(now))
	}); err != nil {
		return false, err
	}
	if now == "" {
		branches, err := m.localRefs(ctx, "refs/heads/")
		if err != nil {
			return false, err
		}
		if at := inTheWay(p.Ref, branches); at != "" { //control:branch-in-the-way-here
			return false, &RemoteError{Kind: errInTheWay, Reason: "the clone has the branch " + at}
		}
	}
	err = m.SetRef(ctx, p.Ref, p.Commit, now)
	if errors.Is(err, ErrStale) {
		err = &RemoteError{Kind: ErrRejected, Reason: err.Error()}
	}
	return now == "", err
}

func (m *Mirror) maySet(ref string) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	if m.url != "" && followsRemote(ref) {
		return fmt.Errorf("%w: %s follows the remote: use refs/handrail/ for refs of your own", errRefName, ref)
	}
	if at, err := m.head(); m.url == "" && err == nil && at == ref {
		return fmt.Errorf("%w: %s is checked out: use another branch", errRefName, ref)
	}
	return nil
}

// followsRemote reports whether a ref of a mirror follows the remote.
func followsRemote(ref string) bool {
	return strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/tags/")
}

// expected returns [ErrStale] if a ref is not at old. A ref with a lost commit counts as
// missing.
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
