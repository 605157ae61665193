package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Default gives the default branch (without "refs/heads/") and the commit it
// is at, as of the last fetch. An empty repository is [ErrEmpty], a HEAD
// that names no branch [ErrNoDefault]. For a local clone it is the branch
// that is checked out; branch is "" when HEAD is detached.
func (m *Mirror) Default(ctx context.Context) (branch, head string, err error) {
	data, err := os.ReadFile(filepath.Join(m.gitDir, "HEAD"))
	if err != nil {
		return "", "", fmt.Errorf("read default branch: %w", err)
	}
	line := strings.TrimSpace(string(data))
	ref, ok := strings.CutPrefix(line, "ref: ")
	if !ok {
		head, err = m.Resolve(ctx, line)
		return "", head, err
	}
	head, err = m.Resolve(ctx, ref)
	if err == nil {
		return strings.TrimPrefix(ref, "refs/heads/"), head, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return "", "", err
	}
	refs, err := m.Refs(ctx, "refs/heads/")
	if err != nil {
		return "", "", err
	}
	if len(refs) == 0 {
		return "", "", ErrEmpty
	}
	return "", "", ErrNoDefault
}

// Refs gives the refs below a prefix with the objects they name.
func (m *Mirror) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	refs := map[string]string{}
	err := m.use(func(o *odb) error {
		iter, err := o.IterReferences()
		if err != nil {
			return err
		}
		return iter.ForEach(func(r *plumbing.Reference) error {
			if r.Type() == plumbing.HashReference && strings.HasPrefix(r.Name().String(), prefix) {
				refs[r.Name().String()] = r.Hash().String()
			}
			return ctx.Err()
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	return refs, nil
}

// Resolve gives the commit that rev names: a full or unique short id, a full
// ref name, a branch, a tag or "HEAD". Tags are followed to their commit. An
// unknown rev is [ErrNotFound].
func (m *Mirror) Resolve(ctx context.Context, rev string) (string, error) {
	var id string
	err := m.use(func(o *odb) error {
		h, err := m.lookup(o, rev)
		if err != nil {
			return err
		}
		id, err = o.peel(ctx, h)
		return err
	})
	if errors.Is(err, plumbing.ErrObjectNotFound) || errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", fmt.Errorf("resolve %q: %w", rev, ErrNotFound)
	}
	if err != nil {
		return "", fmt.Errorf("resolve %q: %w", rev, err)
	}
	return id, nil
}

func (m *Mirror) lookup(o *odb, rev string) (plumbing.Hash, error) {
	if isID(rev) {
		return plumbing.NewHash(rev), nil
	}
	if rev == "HEAD" {
		data, err := os.ReadFile(filepath.Join(m.gitDir, "HEAD"))
		if err != nil {
			return plumbing.ZeroHash, err
		}
		rev = strings.TrimPrefix(strings.TrimSpace(string(data)), "ref: ")
		if isID(rev) {
			return plumbing.NewHash(rev), nil
		}
	}
	for _, name := range []string{rev, "refs/heads/" + rev, "refs/tags/" + rev, "refs/remotes/" + rev} {
		if CheckRef(name) != nil {
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
	if len(rev) >= 7 && len(rev) < 40 && isHex(rev) {
		return o.short(rev)
	}
	return plumbing.ZeroHash, plumbing.ErrReferenceNotFound
}

// short finds the one commit whose id starts with prefix.
func (o *odb) short(prefix string) (plumbing.Hash, error) {
	raw := plumbing.NewHash(prefix + strings.Repeat("0", 40-len(prefix)))
	list, err := o.HashesWithPrefix(raw[:len(prefix)/2])
	if err != nil {
		return plumbing.ZeroHash, err
	}
	found := map[plumbing.Hash]bool{}
	for _, h := range list {
		if _, err := object.GetCommit(o, h); err == nil && strings.HasPrefix(h.String(), prefix) {
			found[h] = true
		}
	}
	if len(found) > 1 {
		return plumbing.ZeroHash, fmt.Errorf("short id names %d commits: give more digits", len(found))
	}
	for h := range found {
		return h, nil
	}
	return plumbing.ZeroHash, plumbing.ErrObjectNotFound
}

// peel follows tags to a commit.
func (o *odb) peel(ctx context.Context, h plumbing.Hash) (string, error) {
	for range 16 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		e, err := o.EncodedObject(plumbing.AnyObject, h)
		if err != nil {
			return "", err
		}
		switch e.Type() {
		case plumbing.CommitObject:
			return h.String(), nil
		case plumbing.TagObject:
			t, err := object.DecodeTag(o, e)
			if err != nil {
				return "", err
			}
			h = t.Target
		default:
			return "", fmt.Errorf("it is a %s, not a commit", e.Type())
		}
	}
	return "", fmt.Errorf("too many tags of tags")
}

// SetRef moves a ref to a commit if it is at old now ("" for a ref that must
// not exist yet); otherwise it is [ErrStale]. An empty commit deletes it. The
// name must pass [CheckRef]. In a mirror, refs/heads and refs/tags follow the
// remote and are refused: keep refs under refs/handrail/. In a local clone,
// moving the branch that is checked out is refused, as the work tree would
// not follow.
func (m *Mirror) SetRef(ctx context.Context, ref, commit, old string) error {
	if err := m.mayset(ref); err != nil {
		return fmt.Errorf("set ref: %w", err)
	}
	if commit != "" {
		if _, err := m.Resolve(ctx, commit); err != nil || !isID(commit) {
			return fmt.Errorf("set ref %s: %q is not the id of a commit here", ref, commit)
		}
	}
	unlock, err := m.lockRefs(ctx)
	if err == nil {
		err = m.use(func(o *odb) error { return m.swap(o, ref, commit, old) })
		unlock()
	}
	if err != nil {
		return fmt.Errorf("set ref %s: %w", ref, err)
	}
	return nil
}

func (m *Mirror) mayset(ref string) error {
	if err := CheckRef(ref); err != nil {
		return err
	}
	if m.url != "" && (strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/tags/")) {
		return fmt.Errorf("%w: %s follows the remote: use refs/handrail/ for refs of your own", ErrRefName, ref)
	}
	if m.url == "" {
		data, err := os.ReadFile(filepath.Join(m.gitDir, "HEAD"))
		if err == nil && strings.TrimSpace(string(data)) == "ref: "+ref {
			return fmt.Errorf("%w: %s is checked out: use another branch", ErrRefName, ref)
		}
	}
	return nil
}

// swap changes a loose ref under git's own lock file. [Mirror.lockRefs] is held.
func (m *Mirror) swap(o *odb, ref, commit, old string) error {
	path := filepath.Join(m.dir, filepath.FromSlash(ref))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := m.gitLock(path)
	if err != nil {
		return err
	}
	mine := true // until it is renamed; one of the same name is somebody else's then
	defer func() {
		if mine {
			drop(path + ".lock")
		}
	}()
	defer f.Close()
	now := ""
	r, err := storer.ResolveReference(o, plumbing.ReferenceName(ref))
	if err == nil {
		now = r.Hash().String()
	} else if !errors.Is(err, plumbing.ErrReferenceNotFound) {
		return err
	}
	if now != old {
		return fmt.Errorf("%w: it is at %q, expected %q", ErrStale, now, old)
	}
	if commit == "" {
		return m.unref(ref, path)
	}
	if _, err := f.WriteString(commit + "\n"); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		_ = os.Remove(path) // empty, or the rename tells
	}
	err = os.Rename(path+".lock", path)
	mine = err != nil
	return err
}

// unref deletes a ref, packed first, then loose.
func (m *Mirror) unref(ref, path string) error {
	packed := filepath.Join(m.dir, "packed-refs")
	data, err := os.ReadFile(packed)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if bytes.Contains(data, []byte(" "+ref+"\n")) {
		err := m.repack(func(lines []packedRef) []packedRef {
			kept := lines[:0]
			for _, l := range lines {
				if l.name != ref {
					kept = append(kept, l)
				}
			}
			return kept
		})
		if err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
