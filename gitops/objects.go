package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

const (
	maxTree     = 64 << 20  // bytes of one tree or commit object
	maxBlob     = 100 << 20 // bytes of one file in a checkpoint: what GitHub takes
	streamAbove = 4 << 20   // blobs above are not held in memory
)

// odb is one open view of the object database. It is used by one goroutine
// at a time: the library's storage is not safe for more.
type odb struct {
	*filesystem.Storage
	gen     int
	stamp   time.Time              // of the packs when it was opened
	shallow map[plumbing.Hash]bool // commits whose parents a shallow clone lacks; nil until read
}

// pool keeps a few views open, since opening one reads the pack indexes.
type pool struct {
	dir  string
	mu   sync.Mutex
	gen  int // raised when packs were added
	idle []*odb
}

func (p *pool) get() *odb {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		o := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return o
	}
	fs := osfs.New(p.dir, osfs.WithBoundOS())
	opts := filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: streamAbove, AlternatesFS: osfs.New("/")}
	return &odb{gen: p.gen, stamp: packStamp(p.dir), Storage: filesystem.NewStorageWithOptions(fs, cache.NewObjectLRU(16*cache.MiByte), opts)}
}

func (p *pool) put(o *odb) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.gen != p.gen || len(p.idle) >= 2 {
		_ = o.Close()
		return
	}
	p.idle = append(p.idle, o)
}

// renew makes every later get see packs that were added.
func (p *pool) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gen++
	for _, o := range p.idle {
		_ = o.Close()
	}
	p.idle = nil
}

// use runs fn on a view, and again on a fresh one when an object is missing:
// another process may have added packs, or joined some (see [packDir.tidy]),
// and a view that is made while packs go lacks what is in them. So fn must be
// repeatable.
func (m *Mirror) use(fn func(o *odb) error) error {
	const tries = 100 // the waits add up to some seconds
	for try := 0; ; try++ {
		o := m.pool.get()
		err := fn(o)
		m.pool.put(o)
		missing, gone := errors.Is(err, plumbing.ErrObjectNotFound), errors.Is(err, dotgit.ErrPackfileNotFound)
		if !missing && !gone {
			return err
		}
		m.pool.renew()
		if try > 0 && (try == tries || !gone && o.stamp.Equal(packStamp(m.dir))) {
			if missing {
				err = fmt.Errorf("%w: %w", ErrNotFound, err)
			}
			return err
		}
		<-time.After(time.Duration(try) * time.Millisecond) // until the index of a new pack is there
	}
}

// packStamp changes when packs come and go.
func packStamp(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "objects", "pack"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (o *odb) has(h plumbing.Hash) bool { return o.HasEncodedObject(h) == nil }

// open gives the content and size of an object of the given type.
func (o *odb) open(t plumbing.ObjectType, h plumbing.Hash) (io.ReadCloser, int64, error) {
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

// read gives the content of an object of at most limit bytes.
func (o *odb) read(t plumbing.ObjectType, h plumbing.Hash, limit int64) ([]byte, error) {
	r, size, err := o.open(t, h)
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

// commit reads a commit. Where a shallow clone ends, it has no parents.
func (o *odb) commit(id string) (*object.Commit, error) {
	if !isID(id) {
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

// write stores an object unless it is there.
func (o *odb) write(t plumbing.ObjectType, data []byte) (plumbing.Hash, error) {
	e := &plumbing.MemoryObject{}
	e.SetType(t)
	_, _ = e.Write(data) // to memory
	return o.put(e)
}

func (o *odb) put(e plumbing.EncodedObject) (plumbing.Hash, error) {
	h := e.Hash()
	if o.has(h) {
		return h, nil
	}
	if _, err := o.SetEncodedObject(e); err != nil {
		return h, fmt.Errorf("write %s %s: %w", e.Type(), h, err)
	}
	return h, nil
}

// writeBlob stores what r gives. Content above streamAbove goes by way of a
// file, so that memory stays bounded.
func (o *odb) writeBlob(r io.Reader, limit int64) (plumbing.Hash, error) {
	var buf bytes.Buffer
	size, err := io.Copy(&buf, io.LimitReader(r, min(streamAbove, limit)+1))
	switch {
	case err != nil:
		return plumbing.ZeroHash, err
	case size > limit:
		return plumbing.ZeroHash, fmt.Errorf("%w: limit is %d bytes", ErrTooLarge, limit)
	case size <= streamAbove:
		return o.write(plumbing.BlobObject, buf.Bytes())
	}
	f, err := os.CreateTemp("", "blob-*")
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer drop(f.Name())
	defer f.Close()
	if size, err = io.Copy(f, io.MultiReader(&buf, io.LimitReader(r, limit-size+1))); err != nil {
		return plumbing.ZeroHash, err
	}
	if size > limit {
		return plumbing.ZeroHash, fmt.Errorf("%w: limit is %d bytes", ErrTooLarge, limit)
	}
	return o.writeFile(f, size)
}

// writeFile stores a file as a blob: read once for the id, once to store it.
func (o *odb) writeFile(f *os.File, size int64) (plumbing.Hash, error) {
	whole := io.NewSectionReader(f, 0, size)
	sum := plumbing.NewHasher(plumbing.BlobObject, size)
	if _, err := io.Copy(sum, whole); err != nil {
		return plumbing.ZeroHash, err
	}
	h := sum.Sum()
	if o.has(h) {
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
