package gitops

import (
	"bufio"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// installPack writes a pack that comes in to disk, indexes it, and only then
// makes it visible. It gives the bytes read.
func (m *Mirror) installPack(ctx context.Context, r io.Reader) (int64, error) {
	dir := filepath.Join(m.dir, "objects", "pack")
	f, err := os.CreateTemp(dir, "tmp_pack_*")
	if err != nil {
		return 0, err
	}
	defer drop(f.Name()) // gone after the rename
	defer f.Close()
	n, err := io.Copy(f, io.LimitReader(r, m.maxPack+1))
	if err != nil {
		return n, err
	}
	if n > m.maxPack {
		return n, fmt.Errorf("%w: the pack has more than %d bytes", ErrTooLarge, m.maxPack)
	}
	idx, err := indexPack(ctx, f)
	if err != nil {
		return n, fmt.Errorf("index pack: %w", err)
	}
	if idx == nil {
		return n, nil
	}
	return n, m.addPack(f, idx)
}

// addPack writes the index of a pack beside it and makes both visible.
func (m *Mirror) addPack(f *os.File, idx *idxfile.MemoryIndex) error {
	dir := filepath.Join(m.dir, "objects", "pack")
	x, err := os.CreateTemp(dir, "tmp_idx_*")
	if err != nil {
		return err
	}
	defer drop(x.Name()) // gone after the rename
	defer x.Close()
	w := bufio.NewWriter(x)
	if _, err := idxfile.NewEncoder(w).Encode(idx); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return showPack(f, x, filepath.Join(dir, fmt.Sprintf("pack-%x", idx.PackfileChecksum)))
}

// showPack gives a pack and its index their names once all of it is on disk:
// a full disk must not leave half a pack where others look. The pack comes
// last: it is what readers look for.
func showPack(pack, idx *os.File, base string) error {
	for _, step := range []func() error{
		pack.Sync, idx.Sync, pack.Close, idx.Close,
		func() error { return os.Rename(idx.Name(), base+".idx") },
		func() error { return os.Rename(pack.Name(), base+".pack") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// indexPack reads a pack through and gives its index, nil for no objects.
func indexPack(ctx context.Context, f *os.File) (*idxfile.MemoryIndex, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var head [12]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return nil, err
	}
	if binary.BigEndian.Uint32(head[8:]) == 0 {
		return nil, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	w := &indexer{ctxErr: ctx.Err}
	p, err := packfile.NewParser(packfile.NewScanner(f), w)
	if err != nil {
		return nil, err
	}
	if _, err := p.Parse(); err != nil {
		return nil, err
	}
	return w.Index()
}

// indexer is the library's index writer that stops when the work was
// cancelled.
type indexer struct {
	idxfile.Writer
	ctxErr func() error
}

func (x *indexer) OnInflatedObjectHeader(t plumbing.ObjectType, size, pos int64) error {
	if err := x.ctxErr(); err != nil {
		return err
	}
	return x.Writer.OnInflatedObjectHeader(t, size, pos)
}

func (x *indexer) OnInflatedObjectContent(h plumbing.Hash, pos int64, crc uint32, b []byte) error {
	if err := x.ctxErr(); err != nil {
		return err
	}
	return x.Writer.OnInflatedObjectContent(h, pos, crc, b)
}

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
	var head [12]byte
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

// writePack writes the objects as a pack.
func (o *odb) writePack(ctx context.Context, w io.Writer, list []sendObject) error {
	p, err := newPackWriter(w, len(list))
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.object(o, s); err != nil {
			return fmt.Errorf("pack %s: %w", s.hash, err)
		}
	}
	return p.close()
}

func (p *packWriter) object(o *odb, s sendObject) error {
	r, size, err := o.open(s.kind, s.hash)
	if err != nil {
		return err
	}
	defer r.Close()
	return p.write(s.kind, r, size)
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

// sendObject is one object to push.
type sendObject struct {
	kind plumbing.ObjectType
	hash plumbing.Hash
}
