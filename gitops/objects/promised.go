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

// A partial mirror has all commits and trees, and of the contents those that were
// needed so far. The remote promised the others, and they are brought when they are
// read, see [Pool.Bring]: here one by one, by [DB.Prefetch] many at once.

// promiser is what git has in the configuration of such a repository. It makes git
// itself take what is missing for promised.
const promiser = "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = \"%s\"\n\tpromisor = true\n\tpartialclonefilter = blob:none\n"

// promisedExt ends the name of the file that says this of a pack.
const promisedExt = ".promisor"

// MakePartial has the mirror lack contents from now on.
func (p *Pool) MakePartial(remote string) error {
	name := filepath.Join(p.dir, "config")
	data, err := os.ReadFile(name)
	if err != nil || isPartial(data) {
		return err
	}
	data = bytes.Replace(data, []byte("repositoryformatversion = 0"), []byte("repositoryformatversion = 1"), 1)
	temp := filepath.Join(p.dir, "tmp_config")
	if err := os.WriteFile(temp, fmt.Appendf(data, promiser, remote), 0o600); err != nil {
		return err
	}
	if err := errors.Join(syncPath(temp), os.Rename(temp, name), SyncDirs(p.dir)); err != nil {
		return err
	}
	p.partial.Store(true)
	return nil
}

func isPartial(config []byte) bool { return bytes.Contains(config, []byte("\tpartialClone = ")) }

// Partial reports whether contents may be missing. Another process may have made it so.
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

// Partial is that of the pool.
func (o *DB) Partial() bool { return o.pool.Partial() }

// Lacks returns those of some contents that are not here.
func (o *DB) Lacks(ids []plumbing.Hash) (list []plumbing.Hash) {
	seen := make(map[plumbing.Hash]bool, len(ids))
	for _, h := range ids {
		if !seen[h] && !h.IsZero() && !o.Has(h) {
			list = append(list, h)
		}
		seen[h] = true
	}
	return list
}

// Prefetch brings at once what of some contents is promised and not here. Where
// nothing is promised it costs nothing.
func (o *DB) Prefetch(ids []plumbing.Hash) error {
	if len(ids) == 0 || !o.pool.Partial() {
		return nil
	}
	lacks := o.Lacks(ids)
	if len(lacks) == 0 {
		return nil
	}
	if err := o.bring(lacks); err != nil {
		return fmt.Errorf("bring %d contents: %w", len(lacks), err)
	}
	o.Reindex()
	return nil
}

// mostNear is how many files are brought with one that is read.
const mostNear = 32

// PrefetchNear brings a content at a path of a tree, where it is promised, with those of
// the files beside it: who reads one file of a few reads the next soon.
func (o *DB) PrefetchNear(tree plumbing.Hash, name string, h plumbing.Hash) error {
	if !o.pool.Partial() || o.Has(h) {
		return nil
	}
	ids := []plumbing.Hash{h}
	dir, err := o.Find(tree, path.Dir(name))
	if err != nil {
		return err
	}
	list, err := o.Tree(dir.Hash)
	if err == nil && len(list) <= mostNear {
		for _, e := range list {
			if e.IsFile() {
				ids = append(ids, e.Hash)
			}
		}
	}
	return errors.Join(err, o.Prefetch(ids))
}

// EncodedObject returns an object, which is read only as what its id says. A content that
// is promised is brought first.
func (o *DB) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	e, err := o.Storage.EncodedObject(t, h)
	if t == plumbing.BlobObject && errors.Is(err, plumbing.ErrObjectNotFound) && o.pool.Partial() {
		if err := o.Prefetch([]plumbing.Hash{h}); err != nil { //control:promised-is-brought
			return nil, err
		}
		e, err = o.Storage.EncodedObject(t, h)
	}
	if err != nil {
		return nil, err
	}
	return checked{e, h}, nil
}

// EncodedObjectSize returns the size of a content.
func (o *DB) EncodedObjectSize(h plumbing.Hash) (int64, error) {
	n, err := o.Storage.EncodedObjectSize(h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		if err := o.Prefetch([]plumbing.Hash{h}); err != nil {
			return 0, err
		}
		return o.Storage.EncodedObjectSize(h)
	}
	return n, err
}

// promised returns an error unless what a commit lacks is the remote's, or was brought.
func (o *DB) promised(ctx context.Context, commit plumbing.Hash, there map[string]plumbing.Hash, lacks []plumbing.Hash) error {
	if !o.pool.Partial() {
		return plumbing.ErrObjectNotFound
	}
	list, err := Unsent(ctx, o, commit, plumbing.ZeroHash, there)
	if err != nil {
		return err
	}
	ours := map[plumbing.Hash]bool{}
	for _, x := range list {
		ours[x.Hash] = true
	}
	lacks = slices.DeleteFunc(lacks, func(h plumbing.Hash) bool { return !ours[h] })
	if err := o.Prefetch(lacks); err != nil {
		return err
	}
	if len(o.Lacks(lacks)) > 0 { //control:lost-is-not-promised
		return plumbing.ErrObjectNotFound
	}
	return nil
}

// Contents returns which of some objects are contents of files.
func Contents(list []Packed) (ids []plumbing.Hash) {
	for _, x := range list {
		if x.Kind == plumbing.BlobObject {
			ids = append(ids, x.Hash)
		}
	}
	return ids
}
