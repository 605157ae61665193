package objects

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// A clone can borrow the objects of other repositories (git clone --shared, --reference):
// objects/info/alternates lists their directories. go-git would open those anew for each
// object, and read the indexes of their packs each time.

// maxAlternates limits the borrowed directories, and their nesting.
const maxAlternates, maxNesting = 50, 5

// openStorage opens the objects and refs of a git directory.
func openStorage(dir string, objects cache.Object) *filesystem.Storage {
	opts := filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: streamAbove}
	return filesystem.NewStorageWithOptions(osfs.New(dir, osfs.WithBoundOS()), objects, opts)
}

// borrowed returns the storages of the alternates. It opens them once.
func (o *DB) borrowed() []*filesystem.Storage {
	if o.others == nil { //control:alternates-once
		o.others = []*filesystem.Storage{}
		for _, dir := range alternates(filepath.Join(o.pool.dir, "objects"), maxNesting, map[string]bool{}) {
			o.others = append(o.others, openStorage(filepath.Dir(dir), o.cache))
		}
	}
	return o.others
}

// alternates returns the directories that the objects directory dir borrows from, in
// order. Missing ones are left out.
func alternates(dir string, depth int, known map[string]bool) (list []string) {
	data, err := os.ReadFile(filepath.Join(dir, "info", "alternates"))
	if err != nil || depth == 0 {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, `"`) {
			if plain, err := strconv.Unquote(line); err == nil {
				line = plain
			}
		}
		if line == "" || line[0] == '#' || len(known) == maxAlternates {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(dir, line)
		}
		line = filepath.Clean(line)
		if info, err := os.Stat(line); err != nil || !info.IsDir() || filepath.Base(line) != "objects" || known[line] {
			continue
		}
		known[line] = true
		list = append(append(list, line), alternates(line, depth-1, known)...)
	}
	return list
}

// stored returns an object of this repository or of those that it borrows from.
func (o *DB) stored(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	e, err := o.Storage.EncodedObject(t, h)
	for _, s := range o.inCase(err) {
		if e, err := s.EncodedObject(t, h); err == nil {
			return e, nil
		}
	}
	return e, err
}

// HasEncodedObject returns nil if the object exists locally.
func (o *DB) HasEncodedObject(h plumbing.Hash) error {
	err := o.Storage.HasEncodedObject(h)
	for _, s := range o.inCase(err) {
		if s.HasEncodedObject(h) == nil {
			return nil
		}
	}
	return err
}

// storedSize returns the size of a stored object.
func (o *DB) storedSize(h plumbing.Hash) (int64, error) {
	n, err := o.Storage.EncodedObjectSize(h)
	for _, s := range o.inCase(err) {
		if n, err := s.EncodedObjectSize(h); err == nil {
			return n, nil
		}
	}
	return n, err
}

// withPrefix returns the ids that begin with these bytes.
func (o *DB) withPrefix(prefix []byte) ([]plumbing.Hash, error) {
	list, err := o.Storage.HashesWithPrefix(prefix)
	for _, s := range o.borrowed() {
		more, other := s.HashesWithPrefix(prefix)
		list, err = append(list, more...), errors.Join(err, other)
	}
	return list, err
}

// inCase returns the borrowed storages if err means that an object is missing.
func (o *DB) inCase(err error) []*filesystem.Storage {
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil
	}
	return o.borrowed()
}

// Close closes the open files.
func (o *DB) Close() error {
	err := o.Storage.Close()
	for _, s := range o.others {
		err = errors.Join(err, s.Close())
	}
	return err
}
