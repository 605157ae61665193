package objects

import (
	"bufio"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// Packs manages the packs of a mirror. The caller holds the mirror's lock.
type Packs struct {
	Dir  string // directory of the mirror
	Pool *Pool
	Max  int64 // maximum size of an incoming pack, in bytes
	Log  *slog.Logger
}

// Install writes an incoming pack to disk, indexes it, and only then makes it visible.
// It returns the number of bytes read.
func (p *Packs) Install(ctx context.Context, r io.Reader) (n int64, err error) {
	err = p.create(p.Pool.Partial(), func(f *os.File) (*idxfile.MemoryIndex, error) {
		if n, err = io.Copy(f, io.LimitReader(r, p.Max+1)); err != nil {
			return nil, err
		}
		if n > p.Max {
			return nil, fmt.Errorf("%w: the pack has more than %d bytes", ErrTooLarge, p.Max)
		}
		idx, err := indexPack(ctx, f)
		if err != nil {
			err = fmt.Errorf("index pack: %w", err)
		}
		return idx, err
	})
	return n, err
}

// create stores the pack that write produces, unless write returns no index. A full
// disk must not leave half a pack visible: pack and index are synced before they get
// their final names, and the pack is renamed last, because readers look for it.
// promised adds git's marker file, by which objects that the pack refers to and lacks
// count as promised by the remote.
func (p *Packs) create(promised bool, write func(f *os.File) (*idxfile.MemoryIndex, error)) error {
	dir := filepath.Join(p.Dir, "objects", "pack")
	f, err := os.CreateTemp(dir, "tmp_pack_*")
	if err != nil {
		return err
	}
	defer drop(f.Name()) // no longer exists after the rename
	defer f.Close()
	idx, err := write(f)
	if err != nil || idx == nil {
		return err
	}
	x, err := os.CreateTemp(dir, "tmp_idx_*")
	if err != nil {
		return err
	}
	defer drop(x.Name())
	defer x.Close()
	w := bufio.NewWriter(x)
	if _, err := idxfile.NewEncoder(w).Encode(idx); err != nil {
		return err
	}
	base := filepath.Join(dir, fmt.Sprintf("pack-%x", idx.PackfileChecksum))
	mark := func() error { return nil }
	if promised {
		mark = func() error { return os.WriteFile(base+promisedExt, nil, 0o600) }
	}
	// like git's; a workspace has another user
	readable := func() error { return errors.Join(f.Chmod(0o444), x.Chmod(0o444)) }
	for _, step := range []func() error{
		mark, w.Flush, readable, f.Sync, x.Sync, f.Close, x.Close,
		func() error { return os.Rename(x.Name(), base+".idx") },
		func() error { return os.Rename(f.Name(), base+".pack") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	p.Pool.Renew()
	return SyncDirs(dir) // before the originals of its objects may be deleted
}

// indexPack returns the index of a pack, or nil if the pack is empty.
func indexPack(ctx context.Context, f *os.File) (*idxfile.MemoryIndex, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var head [packHead]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	if binary.BigEndian.Uint32(head[8:]) == 0 {
		return nil, nil
	}
	w := &idxfile.Writer{}
	p, err := packfile.NewParser(packfile.NewScanner(stoppable{f, ctx.Err}), w)
	if err != nil {
		return nil, err
	}
	if _, err := p.Parse(); err != nil {
		return nil, err
	}
	return w.Index()
}

// stoppable is a file that returns an error on reads once the context is canceled.
type stoppable struct {
	*os.File
	err func() error
}

func (s stoppable) Read(b []byte) (int, error) {
	if err := s.err(); err != nil {
		return 0, err
	}
	return s.File.Read(b)
}

const packHead = 12 // size of the pack header, in bytes

// packWriter writes objects as a pack without deltas, and its index.
type packWriter struct {
	out *bufio.Writer
	sum hash.Hash // of all bytes
	z   *zlib.Writer
	idx idxfile.Writer
	at  uint64 // bytes written
	crc uint32 // of the object that is being written

	buffer []byte // between an object and z
}

// newPackWriter writes the header of a pack. level is the compression level.
func newPackWriter(out io.Writer, objects, level int) (*packWriter, error) {
	p := &packWriter{out: bufio.NewWriterSize(out, 256<<10), sum: sha1.New(), buffer: make([]byte, 32<<10)}
	z, err := zlib.NewWriterLevel(p, level)
	if err != nil {
		return nil, err
	}
	p.z = z
	var head [packHead]byte
	copy(head[:], "PACK")
	binary.BigEndian.PutUint32(head[4:], 2)
	binary.BigEndian.PutUint32(head[8:], uint32(objects))
	_, err = p.Write(head[:])
	return p, errors.Join(err, p.idx.OnHeader(uint32(objects)))
}

// Write writes bytes of the pack.
func (p *packWriter) Write(b []byte) (int, error) {
	p.sum.Write(b)
	p.at += uint64(len(b))
	p.crc = crc32.Update(p.crc, crc32.IEEETable, b)
	return p.out.Write(b)
}

// object writes an object.
func (p *packWriter) object(x Packed, r io.Reader, size int64) error {
	start := p.at
	p.crc = 0
	head := []byte{byte(x.Kind)<<4 | byte(size&15)}
	for n := size >> 4; n > 0; n >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(n&0x7f))
	}
	if _, err := p.Write(head); err != nil {
		return err
	}
	p.z.Reset(p)
	if _, err := io.CopyBuffer(p.z, r, p.buffer); err != nil {
		return err
	}
	err := p.z.Close()
	p.idx.Add(x.Hash, start, p.crc)
	return err
}

// close writes the trailing checksum of the pack, and returns its index.
func (p *packWriter) close() (*idxfile.MemoryIndex, error) {
	sum := plumbing.Hash(p.sum.Sum(nil))
	_, err := p.out.Write(sum[:])
	if err = errors.Join(err, p.out.Flush(), p.idx.OnFooter(sum)); err != nil {
		return nil, err
	}
	return p.idx.Index()
}

// Packed identifies an object to be packed.
type Packed struct {
	Kind plumbing.ObjectType
	Hash plumbing.Hash
}

// opener returns the content and size of an object.
type opener func(Packed) (io.ReadCloser, int64, error)

// WritePack writes the objects as a pack.
func WritePack(ctx context.Context, o *DB, out io.Writer, list []Packed) error {
	_, err := writePack(ctx, out, list, zlib.DefaultCompression, o.openPacked)
	return err
}

func (o *DB) openPacked(x Packed) (io.ReadCloser, int64, error) { return o.Open(x.Kind, x.Hash) }

func writePack(
	ctx context.Context,
	out io.Writer,
	list []Packed,
	level int,
	open opener,
) (*idxfile.MemoryIndex, error) {
	p, err := newPackWriter(out, len(list), level)
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, size, err := open(x)
		if err == nil {
			err = errors.Join(p.object(x, r, size), r.Close())
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", x.Hash, err)
		}
	}
	return p.close()
}

// Pack stores objects as a pack. It compresses them lightly, because the pack never leaves
// this machine. open returns an object's content and size.
func (p *Packs) Pack(ctx context.Context, list []Packed, open func(Packed) (io.ReadCloser, int64, error)) error {
	if len(list) == 0 {
		return nil
	}
	return p.create(false, func(f *os.File) (*idxfile.MemoryIndex, error) {
		return writePack(ctx, f, list, zlib.BestSpeed, open)
	})
}

// drop removes a temporary file, which may already be gone.
func drop(path string) { _ = os.Remove(path) }
