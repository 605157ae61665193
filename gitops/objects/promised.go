package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// A partial mirror has all commits and trees, but only those contents that were needed
// so far. The remote promises the others. They are fetched on first read, see
// [Pool.Bring]: one by one, or in a batch by [DB.Prefetch].

// partialConfig is the configuration that git writes for a partial clone. With it, git
// itself treats missing contents as promised.
const partialConfig = "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = \"%s\"\n\tpromisor = true\n\tpartialclonefilter = blob:none\n"

// promisedExt is the extension of the file that marks a pack as coming from a promisor.
const promisedExt = ".promisor"

// MakePartial turns the mirror into a partial one.
func (p *Pool) MakePartial(remote string) error {
	name := filepath.Join(p.dir, "config")
	data, err := os.ReadFile(name)
	if err != nil || isPartial(data) {
		return err
	}
	data = bytes.Replace(data, []byte("repositoryformatversion = 0"), []byte("repositoryformatversion = 1"), 1)
	temp := filepath.Join(p.dir, "tmp_config")
	if err := os.WriteFile(temp, fmt.Appendf(data, partialConfig, remote), 0o600); err != nil {
		return err
	}
	if err := errors.Join(syncPath(temp), os.Rename(temp, name), SyncDirs(p.dir)); err != nil {
		return err
	}
	p.partial.Store(true)
	return nil
}

func isPartial(config []byte) bool { return bytes.Contains(config, []byte("\tpartialClone = ")) }

// Partial reports whether contents may be missing. Another process may have made the
// mirror partial.
func (p *Pool) Partial() bool {
	if p.Bring == nil || p.partial.Load() {
		return p.Bring != nil
	}
	data, err := os.ReadFile(filepath.Join(p.dir, "config"))
	if err == nil && isPartial(data) {
		p.partial.Store(true)
	}
	return p.partial.Load()
}

func (p *Pool) bringer(ctx context.Context) func([]plumbing.Hash) error {
	if p.Bring == nil {
		return nil
	}
	return func(ids []plumbing.Hash) error { return p.Bring(ctx, ids) }
}

// Partial is [Pool.Partial] of the pool.
func (o *DB) Partial() bool { return o.pool.Partial() }

// Missing returns the ids that do not exist locally, without duplicates.
func (o *DB) Missing(ids []plumbing.Hash) (list []plumbing.Hash) {
	seen := make(map[plumbing.Hash]bool, len(ids))
	for _, h := range ids {
		if !seen[h] && !h.IsZero() && !o.Has(h) {
			list = append(list, h)
		}
		seen[h] = true
	}
	return list
}

// Prefetch fetches all missing contents among ids at once. It does nothing unless the
// mirror is partial.
func (o *DB) Prefetch(ids []plumbing.Hash) error {
	if len(ids) == 0 || !o.pool.Partial() {
		return nil
	}
	lacks := o.Missing(ids)
	if len(lacks) == 0 {
		return nil
	}
	if err := o.bring(lacks); err != nil {
		return fmt.Errorf("bring %d contents: %w", len(lacks), err)
	}
	o.Reindex()
	return nil
}

// maxNearFiles is the maximum size of a directory that is prefetched with one of its files.
const maxNearFiles = 32

// PrefetchNear fetches a promised content together with the other files of its
// directory if that is small, as they are likely to be read next. If the remote lacks one of
// them, it fetches none.
func (o *DB) PrefetchNear(tree plumbing.Hash, name string, h plumbing.Hash) error {
	if !o.pool.Partial() || o.Has(h) {
		return nil
	}
	dir, err := o.Find(tree, path.Dir(name))
	if err != nil {
		return err
	}
	list, err := o.Tree(dir.Hash)
	if err != nil || len(list) > maxNearFiles {
		return err
	}
	var ids []plumbing.Hash
	for _, e := range list {
		if e.IsFile() {
			ids = append(ids, e.Hash)
		}
	}
	if err = o.Prefetch(ids); errors.Is(err, ErrNotFound) {
		err = nil // reading fetches the one content
	}
	return err
}

// EncodedObject returns an object that verifies its content against its id. A promised
// content is fetched first.
func (o *DB) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	e, err := o.local(t, h)
	if t == plumbing.BlobObject && errors.Is(err, plumbing.ErrObjectNotFound) && o.pool.Partial() {
		if err := o.Prefetch([]plumbing.Hash{h}); err != nil { //control:promised-is-brought
			return nil, err
		}
		e, err = o.local(t, h)
	}
	if err != nil {
		return nil, err
	}
	return checked{e, h}, nil
}

// EncodedObjectSize returns an object's size. It fetches a promised content.
func (o *DB) EncodedObjectSize(h plumbing.Hash) (int64, error) {
	n, err := o.localSize(h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		if err := o.Prefetch([]plumbing.Hash{h}); err != nil {
			return 0, err
		}
		return o.localSize(h)
	}
	return n, err
}

// checkPromised returns an error if a missing content of a commit was made here, and not at
// the remote.
func (o *DB) checkPromised(
	ctx context.Context,
	commit plumbing.Hash,
	there map[string]plumbing.Hash,
	lacks []plumbing.Hash,
) error {
	if !o.pool.Partial() {
		return plumbing.ErrObjectNotFound
	}
	list, err := Unsent(ctx, o, commit, plumbing.ZeroHash, there)
	if err == nil && slices.ContainsFunc(Contents(list), func(h plumbing.Hash) bool { return slices.Contains(lacks, h) }) { //control:lost-is-not-promised
		err = plumbing.ErrObjectNotFound
	}
	return err
}

// Contents returns the ids of the blobs among the objects.
func Contents(list []Packed) (ids []plumbing.Hash) {
	for _, x := range list {
		if x.Kind == plumbing.BlobObject {
			ids = append(ids, x.Hash)
		}
	}
	return ids
}
