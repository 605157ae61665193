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

// Packs are the packs of a mirror. Whoever calls has the mirror locked.
type Packs struct {
	Dir  string // of the mirror
	Pool *Pool
	Max  int64 // bytes of a pack that comes in
	Log  *slog.Logger
}

// Install writes a pack that comes in to disk, indexes it, and only then makes
// it visible. It returns the bytes read.
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

// create makes a pack of what write writes, unless there is no index to it. A
// full disk must not leave half a pack where others look: the pack and its
// index get their names once all of both is on disk, and the pack comes last,
// as it is what readers look for. What a pack that came from a remote names and does not
// have is promised: git knows that by a file beside it.
func (p *Packs) create(promised bool, write func(f *os.File) (*idxfile.MemoryIndex, error)) error {
	dir := filepath.Join(p.Dir, "objects", "pack")
	f, err := os.CreateTemp(dir, "tmp_pack_*")
	if err != nil {
		return err
	}
	defer drop(f.Name()) // gone after the rename
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
	return SyncDirs(dir) // before anything that is in it goes elsewhere
}

// indexPack reads a pack through and returns its index, nil for no objects.
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

// stoppable is a file that cannot be read any more once the work on it was
// cancelled.
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

const packHead = 12 // bytes before the first object

// packWriter writes objects as a pack without deltas.
type packWriter struct {
	out io.Writer
	w   io.Writer // out, with the sum taken
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

// close writes the sum that ends a pack.
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

// Packed is one object of a pack to be.
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

// drop removes a temporary file; when it is gone already, all is well.
func drop(path string) { _ = os.Remove(path) }
