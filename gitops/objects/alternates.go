package objects

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// A clone made with --shared or --reference has the objects of another one, its alternate.
// go-git opens an alternate anew for each object, and reads the index of a pack each time.
// A view opens it once.

// maxAlternates is the maximum depth of alternates of alternates, git's own.
const maxAlternates = 5

// alternates returns the object directories that the one of a repository names, and that
// those name in turn.
func alternates(objects string) (dirs []string) {
	seen := map[string]bool{objects: true}
	var add func(from string, depth int)
	add = func(from string, depth int) {
		data, err := os.ReadFile(filepath.Join(from, "info", "alternates"))
		if err != nil || depth > maxAlternates {
			return // like git, it does without an alternate that it cannot read
		}
		for line := range strings.Lines(string(data)) {
			dir := strings.TrimRight(line, "\r\n")
			if strings.HasPrefix(dir, `"`) {
				if plain, err := strconv.Unquote(dir); err == nil {
					dir = plain
				}
			}
			if dir == "" || dir[0] == '#' {
				continue
			}
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(from, dir)
			}
			if dir = filepath.Clean(dir); !seen[dir] {
				seen[dir], dirs = true, append(dirs, dir)
				add(dir, depth+1)
			}
		}
	}
	add(objects, 1)
	return dirs
}

// openStores returns the storages that a view searches, its own first.
func openStores(
	own *filesystem.Storage,
	dir string,
	lru cache.Object,
	opts filesystem.Options,
) []*filesystem.ObjectStorage {
	stores := []*filesystem.ObjectStorage{&own.ObjectStorage}
	for _, objects := range alternates(filepath.Join(dir, "objects")) {
		there := dotgit.New(filesIn(filepath.Dir(objects)))
		stores = append(stores, filesystem.NewObjectStorageWithOptions(there, lru, opts))
	}
	return stores
}

// Close closes the files of the view.
func (o *DB) Close() (err error) {
	for _, s := range slices.Concat(o.stores, o.stale) {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}
	return err
}

// HasEncodedObject returns nil if the object exists locally.
func (o *DB) HasEncodedObject(h plumbing.Hash) error {
	return o.retry(func() (err error) {
		for _, s := range o.stores {
			if err = s.HasEncodedObject(h); err == nil {
				return nil
			}
		}
		return err
	})
}

// pick returns the storage to read an object from. All but the last must have the object:
// on a miss go-git would search their alternates itself.
func (o *DB) pick(h plumbing.Hash) *filesystem.ObjectStorage {
	last := len(o.stores) - 1
	for _, s := range o.stores[:last] {
		if s.HasEncodedObject(h) == nil { //control:alternates-once
			return s
		}
	}
	return o.stores[last]
}

// local returns an object that exists locally.
func (o *DB) local(t plumbing.ObjectType, h plumbing.Hash) (e plumbing.EncodedObject, err error) {
	err = o.retry(func() error {
		e, err = o.pick(h).EncodedObject(t, h)
		return err
	})
	return e, err
}

// localSize returns the size of an object that exists locally.
func (o *DB) localSize(h plumbing.Hash) (size int64, err error) {
	err = o.retry(func() error {
		size, err = o.pick(h).EncodedObjectSize(h)
		return err
	})
	return size, err
}

// withPrefix returns the ids that begin so.
func (o *DB) withPrefix(prefix []byte) (ids []plumbing.Hash, err error) {
	if o.changed() {
		o.open()
	}
	for _, s := range o.stores {
		list, err := s.HashesWithPrefix(prefix)
		if err != nil {
			return nil, err
		}
		ids = append(ids, list...)
	}
	return ids, nil
}
