package objects

import (
	"bufio"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash"
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
	for _, step := range []func() error{
		mark, w.Flush, f.Sync, x.Sync, f.Close, x.Close,
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

// packWriter writes objects as a pack without deltas.
type packWriter struct {
	out io.Writer
	w   io.Writer // out and the checksum
	sum hash.Hash
	z   *zlib.Writer
}

func newPackWriter(out io.Writer, objects int) (*packWriter, error) {
	sum := sha1.New()
	p := &packWriter{out: out, sum: sum, w: io.MultiWriter(out, sum)}
	p.z = zlib.NewWriter(p.w)
	var head [packHead]byte
	copy(head[:], "PACK")
	binary.BigEndian.PutUint32(head[4:], 2)
	binary.BigEndian.PutUint32(head[8:], uint32(objects))
	_, err := p.w.Write(head[:])
	return p, err
}

// close writes the trailing checksum of the pack.
func (p *packWriter) close() error {
	_, err := p.out.Write(p.sum.Sum(nil))
	return err
}

// WritePack writes the objects as a pack.
func WritePack(ctx context.Context, o *DB, out io.Writer, list []Packed) error {
	p, err := newPackWriter(out, len(list))
	if err != nil {
		return err
	}
	for _, x := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, size, err := o.Open(x.Kind, x.Hash)
		if err == nil {
			err = p.write(x.Kind, r, size)
			r.Close()
		}
		if err != nil {
			return fmt.Errorf("pack %s: %w", x.Hash, err)
		}
	}
	return p.close()
}

// Packed identifies an object to be packed.
type Packed struct {
	Kind plumbing.ObjectType
	Hash plumbing.Hash
}

func (p *packWriter) write(kind plumbing.ObjectType, r io.Reader, size int64) error {
	head := []byte{byte(kind)<<4 | byte(size&15)}
	for n := size >> 4; n > 0; n >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(n&0x7f))
	}
	if _, err := p.w.Write(head); err != nil {
		return err
	}
	p.z.Reset(p.w)
	if _, err := io.Copy(p.z, r); err != nil {
		return err
	}
	return p.z.Close()
}

// drop removes a temporary file, which may already be gone.
func drop(path string) { _ = os.Remove(path) }
