package gitops

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// RemoteRefs returns the current refs of the remote below a prefix. In a local clone it
// returns the clone's own refs.
func (m *Mirror) RemoteRefs(ctx context.Context, prefix string) (map[string]string, error) {
	if m.url == "" {
		return m.localRefs(ctx, prefix)
	}
	s, err := m.dial(ctx, "git-upload-pack", AccessRead)
	if err != nil {
		return nil, fmt.Errorf("list refs of %s: %w", m.url, err)
	}
	refs := map[string]string{}
	for name, h := range s.Adv.References {
		if strings.HasPrefix(name, prefix) {
			refs[name] = h.String()
		}
	}
	return refs, nil
}

// ReadRef returns the files of the current commit of a remote ref, by name, and the
// commit. For a missing ref both are empty. Folders in the commit are left out. In a
// local clone it reads the clone's own ref.
func (m *Mirror) ReadRef(ctx context.Context, ref string) (files map[string][]byte, commit string, err error) {
	if err = checkRef(ref); err == nil {
		commit, err = m.tip(ctx, ref)
	}
	if err == nil && commit != "" {
		err = m.pool.Use(ctx, func(o *objects.DB) error {
			files, err = readFlat(o, commit)
			return err
		})
	}
	if err != nil {
		return nil, "", fmt.Errorf("read ref %s: %w", ref, err)
	}
	return files, commit, nil
}

// tip fetches the current commit of a remote ref. It is empty if there is none.
func (m *Mirror) tip(ctx context.Context, ref string) (string, error) {
	if m.url == "" {
		commit, err := m.Resolve(ctx, ref)
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return commit, err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	s, err := m.dial(ctx, "git-upload-pack", AccessRead)
	if err != nil {
		return "", err
	}
	h, ok := s.Adv.References[ref]
	if !ok {
		return "", nil
	}
	return h.String(), askAgain(ctx, func() error {
		_, err := m.download(ctx, s, fetchGoal{ids: []plumbing.Hash{h}, whole: true})
		return lagging(err)
	})
}

// readFlat reads the files at the root of a commit.
func readFlat(o *objects.DB, commit string) (map[string][]byte, error) {
	tree, err := o.TreeOf(commit)
	if err != nil {
		return nil, err
	}
	list, err := o.Tree(tree)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range list {
		if e.Mode.IsFile() {
			if files[e.Name], err = o.Read(plumbing.BlobObject, e.Hash, maxBlob); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// WriteRef commits files, and moves a ref of the remote to the commit if the ref is at
// old. An empty old means that the ref must not exist. The names of files have no
// slashes. The commit has no parent, so that the history does not grow. If the ref is
// elsewhere, the error is [ErrStale]: read it again.
func (m *Mirror) WriteRef(
	ctx context.Context,
	ref string,
	files map[string][]byte,
	old string,
) (commit string, err error) {
	if err = checkRef(ref); err == nil {
		err = m.pool.Use(ctx, func(o *objects.DB) error {
			commit, err = commitFlat(ctx, o, files)
			return err
		})
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("write ref %s: %w", ref, err)
	case m.url == "":
		return commit, m.SetRef(ctx, ref, commit, old)
	}
	err = m.Push(ctx, Push{Commit: commit, Ref: ref, Old: old, Create: old == "", Force: old != ""})
	if errors.Is(err, ErrRejected) {
		err = fmt.Errorf("%w: %w", ErrStale, err)
	}
	return commit, err
}

func commitFlat(ctx context.Context, o *objects.DB, files map[string][]byte) (string, error) {
	var list []objects.Entry
	for name, data := range files {
		parts, err := objects.SplitPath(name)
		if err != nil || len(parts) != 1 || isDotGit(name) {
			return "", fmt.Errorf("%w: %q", objects.ErrPath, name)
		}
		if len(data) > maxBlob {
			return "", fmt.Errorf("%w: %s has %d bytes, limit %d", ErrTooLarge, name, len(data), maxBlob)
		}
		h, err := o.Write(plumbing.BlobObject, data)
		if err != nil {
			return "", err
		}
		list = append(list, objects.Entry{Name: name, Mode: filemode.Regular, Hash: h})
	}
	tree, err := o.WriteTree(list)
	if err == nil {
		tree, err = o.Root(tree)
	}
	if err != nil {
		return "", err
	}
	alone := object.Commit{TreeHash: tree} //control:state-has-no-history
	// Random text: concurrent writers of equal files must not get the same commit.
	h, err := writeCommit(
		ctx,
		o,
		alone,
		Meta{Message: "Session log\n\n" + rand.Text(), Author: Signature{"handrail", "handrail@localhost"}},
	)
	return h.String(), err
}
