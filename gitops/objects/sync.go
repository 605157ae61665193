package objects

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"
)

// Sync flushes all objects written through the pool since the last call, and their
// directory entries, to disk. It must be called before a save is recorded, because
// go-git writes and renames objects only in the page cache.
//
// Files are synced in parallel, so that the file system commits its journal for many
// of them at once.
func (p *Pool) Sync() error {
	p.mu.Lock()
	fresh := p.fresh
	p.fresh = nil
	p.mu.Unlock()
	if err := p.sync(fresh); err != nil {
		p.mu.Lock()
		for h := range fresh {
			p.note(h)
		}
		p.mu.Unlock()
		return fmt.Errorf("sync objects: %w", err)
	}
	return nil
}

// maxParallelSyncs is the maximum number of files synced in parallel.
const maxParallelSyncs = 16

func (p *Pool) sync(fresh map[plumbing.Hash]bool) error {
	dirs := map[string]bool{}
	var files errgroup.Group
	files.SetLimit(maxParallelSyncs)
	for h := range fresh {
		path := p.loosePath(h)
		files.Go(func() error {
			err := syncPath(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // now in a pack, which was synced on creation
			}
			return err
		})
		dirs[filepath.Dir(path)], dirs[filepath.Join(p.dir, "objects")] = true, true
	}
	if err := files.Wait(); err != nil {
		return err
	}
	return SyncDirs(slices.Collect(maps.Keys(dirs))...)
}

// note records that an object must be synced. The caller holds the pool's lock.
func (p *Pool) note(h plumbing.Hash) {
	if p.fresh == nil {
		p.fresh = map[plumbing.Hash]bool{}
	}
	p.fresh[h] = true
}

// loosePath returns the path of an object outside of packs.
func (p *Pool) loosePath(h plumbing.Hash) string {
	id := h.String()
	return filepath.Join(p.dir, "objects", id[:2], id[2:])
}

// SyncDirs flushes directory entries to disk. It skips missing directories.
func SyncDirs(dirs ...string) error {
	if runtime.GOOS == "windows" { // has no directory sync
		return nil
	}
	var all errgroup.Group
	all.SetLimit(maxParallelSyncs)
	for _, dir := range dirs {
		all.Go(func() error {
			err := syncPath(dir)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
	}
	return all.Wait()
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// existsAndNoted reports whether an object need not be written. It schedules the object for
// syncing in any case, because its writer may have died before that. An object torn by
// a power failure is removed, so that it is written again.
func (o *DB) existsAndNoted(h plumbing.Hash) bool {
	o.pool.mu.Lock()
	o.pool.note(h)
	o.pool.mu.Unlock()
	if !o.Has(h) {
		return false
	}
	path := o.pool.loosePath(h)
	if _, err := os.Stat(path); err != nil || looseIsWhole(path, h) { //control:torn-object
		return true
	}
	drop(path)
	return false
}

// looseIsWhole reports whether the content of a loose object matches its id.
func looseIsWhole(path string, h plumbing.Hash) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return false
	}
	sum := sha1.New()
	_, err = io.Copy(sum, z)
	return err == nil && bytes.Equal(sum.Sum(nil), h[:])
}

// Mend removes loose objects that do not match their id, as after a power failure. They
// are missing from then on, and can be fetched or created again.
func (p *Pool) Mend() error {
	files, err := filepath.Glob(filepath.Join(p.dir, "objects", "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return err
	}
	for _, path := range files {
		id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		switch {
		case !IsID(id) || looseIsWhole(path, plumbing.NewHash(id)):
		case p.UserClone: //control:their-objects-stay
			_ = os.Rename(path, path+".damaged") // if renaming fails, reads report the damage
		default:
			drop(path)
		}
	}
	p.Renew()
	return nil
}

// Whole reports whether a commit exists with all files of its tree. If not, the commit
// itself is treated as missing from then on.
//
// In a partial mirror, contents that the remote has count as existing: those reachable
// from its refs, given in there. Newer ones must exist.
func (o *DB) Whole(ctx context.Context, commit string, there map[string]plumbing.Hash) (bool, error) {
	var lacks []plumbing.Hash
	tree, err := o.TreeOf(commit)
	if err == nil {
		lacks, err = o.wholeTree(tree, map[plumbing.Hash]bool{}, nil)
	}
	if err == nil && len(lacks) > 0 {
		err = o.checkPromised(ctx, plumbing.NewHash(commit), there, lacks)
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		if o.pool.UserClone { //control:their-commits-stay
			return false, nil
		}
		drop(o.pool.loosePath(plumbing.NewHash(commit)))
		return false, nil
	}
	return err == nil, err
}

func (o *DB) wholeTree(h plumbing.Hash, seen map[plumbing.Hash]bool, lacks []plumbing.Hash) ([]plumbing.Hash, error) {
	list, err := o.Tree(h)
	for _, e := range list {
		switch {
		case err != nil || seen[e.Hash]:
		case e.IsDir():
			lacks, err = o.wholeTree(e.Hash, seen, lacks)
		case e.IsFile() && !o.Has(e.Hash):
			lacks = append(lacks, e.Hash)
		}
		seen[e.Hash] = true
	}
	return lacks, err
}
