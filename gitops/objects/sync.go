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

// Sync brings to the disk what was written through the pool since the last
// call, with the names of it. Whoever records that something is saved calls it
// before that: go-git writes objects to the page cache and renames them there.
//
// Files are synced side by side, so that the file system commits its journal
// for many of them at once.
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

// mostSyncs is how many files are synced at a time.
const mostSyncs = 16

func (p *Pool) sync(fresh map[plumbing.Hash]bool) error {
	dirs := map[string]bool{}
	var files errgroup.Group
	files.SetLimit(mostSyncs)
	for h := range fresh {
		path := p.loose(h)
		files.Go(func() error {
			err := syncPath(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it is in a pack, which was synced when it was made
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

// note remembers that an object is to be synced. The pool is locked.
func (p *Pool) note(h plumbing.Hash) {
	if p.fresh == nil {
		p.fresh = map[plumbing.Hash]bool{}
	}
	p.fresh[h] = true
}

// loose returns where an object lies when it is in no pack.
func (p *Pool) loose(h plumbing.Hash) string {
	id := h.String()
	return filepath.Join(p.dir, "objects", id[:2], id[2:])
}

// SyncDirs brings the names in directories to the disk. One that is not there
// is skipped, because nothing is in it.
func SyncDirs(dirs ...string) error {
	if runtime.GOOS == "windows" { // which knows no such thing
		return nil
	}
	var all errgroup.Group
	all.SetLimit(mostSyncs)
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

// here reports whether an object need not be written. It is noted all the same:
// whoever wrote it may have died before it was synced. What a power cut left
// half on the disk goes away and is written again.
func (o *DB) here(h plumbing.Hash) bool {
	o.pool.mu.Lock()
	o.pool.note(h)
	o.pool.mu.Unlock()
	if !o.Has(h) {
		return false
	}
	path := o.pool.loose(h)
	if _, err := os.Stat(path); err != nil || looseIsWhole(path, h) { //control:torn-object
		return true
	}
	drop(path)
	return false
}

// looseIsWhole reports whether a loose object is what its name says.
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

// Mend removes loose objects that are not what their names say, as a power cut
// leaves them: they are missing from then on, and missing objects can be
// fetched or made again.
func (p *Pool) Mend() error {
	files, err := filepath.Glob(filepath.Join(p.dir, "objects", "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return err
	}
	for _, path := range files {
		id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		switch {
		case !IsID(id) || looseIsWhole(path, plumbing.NewHash(id)):
		case p.Theirs: //control:their-objects-stay
			_ = os.Rename(path, path+".damaged") // what cannot be renamed is read as damaged
		default:
			drop(path)
		}
	}
	p.Renew()
	return nil
}

// Whole reports whether a commit is here with every file of its tree. When it
// is not, the commit itself is taken for missing from then on.
//
// In a partial mirror a content that the remote has is promised. It has those of what is
// there, by refs; what comes after that must be here, or be brought now.
func (o *DB) Whole(ctx context.Context, commit string, there map[string]plumbing.Hash) (bool, error) {
	var lacks []plumbing.Hash
	tree, err := o.TreeOf(commit)
	if err == nil {
		lacks, err = o.wholeTree(tree, map[plumbing.Hash]bool{}, nil)
	}
	if err == nil && len(lacks) > 0 {
		err = o.promised(ctx, plumbing.NewHash(commit), there, lacks)
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		if o.pool.Theirs { //control:their-commits-stay
			return false, nil
		}
		drop(o.pool.loose(plumbing.NewHash(commit)))
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
