// Package objects reads and writes blobs, trees and commits, and the packs that hold
// them. go-git reads all objects and writes loose ones. This package writes trees and
// packs and joins packs itself; package gitops has the measurements.
package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// Errors that callers branch on.
var (
	// ErrNotFound means that an object or path does not exist.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge means that a limit on files or bytes was reached.
	ErrTooLarge = errors.New("too large")
	// ErrPath means that a path is not allowed in a tree.
	ErrPath = errors.New("path not allowed")
)

const (
	maxTree     = 64 << 20 // maximum size of a tree or commit object, in bytes
	streamAbove = 4 << 20  // larger blobs are not read into memory
)

// DB is an open view of the object database. It opens files anew if another process added
// or joined packs. It is not safe for concurrent use, because go-git's storage is not.
type DB struct {
	*filesystem.Storage
	stores  []*filesystem.ObjectStorage // of Storage, and of its alternates
	stale   []*filesystem.ObjectStorage // opened before; objects in use may read from them
	pool    *Pool
	bring   func([]plumbing.Hash) error // fetches promised contents; nil if none are promised
	gen     int
	looked  time.Time              // when the directory of packs was looked at
	stamp   time.Time              // its modification time then
	packs   string                 // its packs when the files were opened
	shallow map[plumbing.Hash]bool // boundary commits of a shallow clone; nil until read
}

// Pool keeps some views open, because opening one reads the pack indexes. It is safe
// for concurrent use.
type Pool struct {
	// Bring fetches contents that a partial mirror lacks. A nil Bring means that nothing is
	// promised.
	Bring func(ctx context.Context, ids []plumbing.Hash) error

	// UserClone marks a user's own clone, in which nothing is deleted. Damaged files are
	// renamed with the suffix ".damaged".
	UserClone bool

	partial atomic.Bool
	dir     string
	mu      sync.Mutex
	gen     int // incremented when packs were added
	idle    []*DB
	used    int // number of views in use

	fresh map[plumbing.Hash]bool // written objects that may not have been synced
}

// NewPool returns a pool for the git directory dir, which contains "objects" and "refs".
func NewPool(dir string) *Pool { return &Pool{dir: dir} }

func (p *Pool) get(ctx context.Context) *DB {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used++
	if n := len(p.idle); n > 0 {
		o := p.idle[n-1]
		p.idle = p.idle[:n-1]
		o.bring = p.bringer(ctx)
		return o
	}
	o := &DB{pool: p, bring: p.bringer(ctx), gen: p.gen}
	o.open()
	return o
}

// open opens the files of the repository as they are now. Objects that were read before
// stay readable: their files are closed with the view.
func (o *DB) open() {
	lru := cache.NewObjectLRU(16 * cache.MiByte)
	opts := filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: streamAbove}
	o.stale = append(o.stale, o.stores...)
	o.looked, o.stamp = time.Now(), packStamp(o.pool.dir)
	o.packs = packNames(o.pool.dir)
	o.Storage = filesystem.NewStorageWithOptions(filesIn(o.pool.dir), lru, opts)
	o.stores = openStores(o.Storage, o.pool.dir, lru, opts)
}

func (p *Pool) put(o *DB) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
	if o.gen != p.gen || len(p.idle) >= 2 {
		_ = o.Close()
		return
	}
	p.idle = append(p.idle, o)
}

// Renew closes the idle views, so that later views see added packs.
func (p *Pool) Renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gen++
	for _, o := range p.idle {
		_ = o.Close()
	}
	p.idle = nil
}

// Busy reports whether any view is in use.
func (p *Pool) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used > 0
}

// Do runs fn on a view. A missing object is go-git's error.
func (p *Pool) Do(ctx context.Context, fn func(o *DB) error) error {
	o := p.get(ctx)
	defer p.put(o)
	return fn(o)
}

// Use runs fn on a view. If an object is missing, the error is [ErrNotFound].
func (p *Pool) Use(ctx context.Context, fn func(o *DB) error) error {
	err := p.Do(ctx, fn)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

// retry runs read, and again with the files opened anew if an object is missing: another
// process may have added or joined packs (see [Packs.Tidy]) since the view was opened, or
// during read.
func (o *DB) retry(read func() error) error {
	const tries = 100 // the delays add up to a few seconds
	for try := 0; ; try++ {
		err := read()
		missing, gone := errors.Is(err, plumbing.ErrObjectNotFound), errors.Is(err, dotgit.ErrPackfileNotFound)
		if !gone && (!missing || !o.changed()) || try == tries {
			return err
		}
		<-time.After(time.Duration(try) * time.Millisecond) // the index of a new pack may not exist yet
		o.open()
	}
}

// stampStep is longer than the steps in which file systems count time.
const stampStep = 10 * time.Millisecond

// changed reports whether packs were added or removed since the view's files were opened.
// go-git writes each object in the directory of packs first, so a new modification time
// alone says nothing.
func (o *DB) changed() bool {
	now, stamp := time.Now(), packStamp(o.pool.dir)
	if o.stamp.Equal(stamp) && o.looked.Sub(o.stamp) >= stampStep {
		return false
	}
	if packNames(o.pool.dir) != o.packs { //control:packs-of-others
		return true
	}
	o.looked, o.stamp = now, stamp
	return false
}

// packNames returns the names of the packs and of their indexes.
func packNames(dir string) string {
	f, err := os.Open(filepath.Join(dir, "objects", "pack"))
	if err != nil {
		return ""
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasSuffix(name, ".pack") && !strings.HasSuffix(name, ".idx")
	})
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// packStamp returns a time that changes when files are added to or removed from the
// directory of packs, except within [stampStep].
func packStamp(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "objects", "pack"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Has reports whether the object exists locally.
func (o *DB) Has(h plumbing.Hash) bool { return o.HasEncodedObject(h) == nil }

// Open returns the content and size of an object of the given type.
func (o *DB) Open(t plumbing.ObjectType, h plumbing.Hash) (io.ReadCloser, int64, error) {
	e, err := o.EncodedObject(t, h)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s %s: %w", t, h, err)
	}
	r, err := e.Reader()
	if err != nil {
		return nil, 0, fmt.Errorf("read %s %s: %w", t, h, err)
	}
	return r, e.Size(), nil
}

// Read returns the content of an object of at most limit bytes.
func (o *DB) Read(t plumbing.ObjectType, h plumbing.Hash, limit int64) ([]byte, error) {
	r, size, err := o.Open(t, h)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > limit {
		return nil, fmt.Errorf("%w: %s %s has %d bytes, limit %d", ErrTooLarge, t, h, size, limit)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", t, h, err)
	}
	return data, nil
}

// Commit reads a commit. At the boundary of a shallow clone, it has no parents.
func (o *DB) Commit(id string) (*object.Commit, error) {
	if !IsID(id) {
		return nil, fmt.Errorf("read commit: %q is not a full commit id", id)
	}
	c, err := object.GetCommit(o, plumbing.NewHash(id))
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", id, err)
	}
	if o.shallow == nil {
		list, err := o.Shallow()
		if err != nil {
			return nil, fmt.Errorf("read where the clone ends: %w", err)
		}
		o.shallow = map[plumbing.Hash]bool{}
		for _, h := range list {
			o.shallow[h] = true
		}
	}
	if o.shallow[c.Hash] {
		c.ParentHashes = nil
	}
	return c, nil
}

// Write stores an object unless it exists.
func (o *DB) Write(t plumbing.ObjectType, data []byte) (plumbing.Hash, error) {
	e := &plumbing.MemoryObject{}
	e.SetType(t)
	_, _ = e.Write(data) // cannot fail
	return o.put(e)
}

func (o *DB) put(e plumbing.EncodedObject) (plumbing.Hash, error) {
	h := e.Hash()
	if o.existsAndNoted(h) {
		return h, nil
	}
	if _, err := o.SetEncodedObject(e); err != nil {
		return h, fmt.Errorf("write %s %s: %w", e.Type(), h, err)
	}
	return h, nil
}

// WriteBlob stores the content of r, at most limit bytes. Large content is buffered
// in a file instead of in memory.
func (o *DB) WriteBlob(r io.Reader, limit int64) (plumbing.Hash, error) {
	var buf bytes.Buffer
	size, err := io.Copy(&buf, io.LimitReader(r, min(streamAbove, limit)+1))
	switch {
	case err != nil:
		return plumbing.ZeroHash, err
	case size > limit:
		return plumbing.ZeroHash, fmt.Errorf("%w: limit is %d bytes", ErrTooLarge, limit)
	case size <= streamAbove:
		return o.Write(plumbing.BlobObject, buf.Bytes())
	}
	f, err := os.CreateTemp("", "blob-*")
	if err != nil {
		return plumbing.ZeroHash, err
	}
	drop(f.Name()) // at once: a process that is killed leaves nothing
	defer f.Close()
	if size, err = io.Copy(f, io.MultiReader(&buf, io.LimitReader(r, limit-size+1))); err != nil {
		return plumbing.ZeroHash, err
	}
	if size > limit {
		return plumbing.ZeroHash, fmt.Errorf("%w: limit is %d bytes", ErrTooLarge, limit)
	}
	return o.writeFile(f, size)
}

// writeFile stores a file as a blob. It reads the file twice: for the id and to store it.
func (o *DB) writeFile(f *os.File, size int64) (plumbing.Hash, error) {
	whole := io.NewSectionReader(f, 0, size)
	sum := plumbing.NewHasher(plumbing.BlobObject, size)
	if _, err := io.Copy(sum, whole); err != nil {
		return plumbing.ZeroHash, err
	}
	h := sum.Sum()
	if o.existsAndNoted(h) {
		return h, nil
	}
	w, header, err := o.LazyWriter()
	if err != nil {
		return h, err
	}
	if err = header(plumbing.BlobObject, size); err == nil {
		_, err = io.Copy(w, io.NewSectionReader(f, 0, size))
	}
	return h, errors.Join(err, w.Close())
}

// WriteCommit stores a commit.
func (o *DB) WriteCommit(c object.Commit) (plumbing.Hash, error) {
	e := &plumbing.MemoryObject{}
	if err := c.Encode(e); err != nil {
		return plumbing.ZeroHash, fmt.Errorf("write commit: %w", err)
	}
	return o.put(e)
}

// Short returns the only commit with an id that starts with prefix, at least seven
// digits.
func (o *DB) Short(prefix string) (found plumbing.Hash, err error) {
	if len(prefix) < 7 || len(prefix) > 40 || !isHex(prefix) {
		return found, plumbing.ErrReferenceNotFound
	}
	raw := plumbing.NewHash(prefix + strings.Repeat("0", 40-len(prefix)))
	list, err := o.withPrefix(raw[:len(prefix)/2])
	if err != nil {
		return found, err
	}
	for _, h := range list {
		if _, err := object.GetCommit(o, h); err != nil || h == found || !strings.HasPrefix(h.String(), prefix) {
			continue
		}
		if !found.IsZero() {
			return found, fmt.Errorf("several commits have this short id: give more digits")
		}
		found = h
	}
	if found.IsZero() {
		return found, plumbing.ErrObjectNotFound
	}
	return found, nil
}

// Peel resolves tags to a commit.
func (o *DB) Peel(h plumbing.Hash) (plumbing.Hash, error) {
	for range 16 {
		at, err := object.GetObject(o, h)
		if err != nil {
			return h, err
		}
		switch at := at.(type) {
		case *object.Commit:
			return h, nil
		case *object.Tag:
			h = at.Target
		default:
			return h, fmt.Errorf("it is a %s, not a commit", at.Type())
		}
	}
	return h, fmt.Errorf("too many tags of tags")
}

// TreeOf returns the tree of a commit, or the zero hash if id is empty.
func (o *DB) TreeOf(id string) (plumbing.Hash, error) {
	if id == "" {
		return plumbing.ZeroHash, nil
	}
	c, err := o.Commit(id)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return c.TreeHash, nil
}

// ParentTree returns the tree of a commit's first parent, or the zero hash if the
// commit has no parent.
func (o *DB) ParentTree(c *object.Commit) (plumbing.Hash, error) {
	if len(c.ParentHashes) == 0 {
		return plumbing.ZeroHash, nil
	}
	return o.TreeOf(c.ParentHashes[0].String())
}
