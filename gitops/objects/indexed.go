package objects

import (
	"bufio"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// tally counts and checksums the bytes written through it.
type tally struct {
	w   io.Writer
	n   uint64
	crc uint32
}

func (t *tally) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	t.n += uint64(n)
	t.crc = crc32.Update(t.crc, crc32.IEEETable, b[:n])
	return n, err
}

// WriteIndexed writes objects as a pack with its index into a directory that has no
// readers yet. open returns an object's content and size. The pack is optimized for
// speed, as it never leaves this machine: no deltas, light compression.
func WriteIndexed(ctx context.Context, dir string, list []Packed, open func(Packed) (io.ReadCloser, int64, error)) (err error) {
	f, err := os.CreateTemp(dir, "tmp_pack_*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	buf := bufio.NewWriterSize(f, 256<<10)
	p, err := newPackWriter(buf, len(list))
	if err != nil {
		return err
	}
	at := &tally{w: p.w, n: packHead}
	p.w = at
	if p.z, err = zlib.NewWriterLevel(at, zlib.BestSpeed); err != nil {
		return err
	}
	idx := &idxfile.Writer{}
	if err := idx.OnHeader(uint32(len(list))); err != nil {
		return err
	}
	for _, x := range list {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		start := at.n
		at.crc = 0
		if err := p.pass(x, open); err != nil {
			return fmt.Errorf("pack %s: %w", x.Hash, err)
		}
		idx.Add(x.Hash, start, at.crc)
	}
	sum := plumbing.Hash(p.sum.Sum(nil))
	if err := errors.Join(p.close(), buf.Flush(), idx.OnFooter(sum)); err != nil {
		return err
	}
	made, err := idx.Index()
	if err != nil {
		return err
	}
	name := filepath.Join(dir, fmt.Sprintf("pack-%s", sum))
	if err := writeIndex(name+".idx", made); err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o444), f.Close(), os.Rename(f.Name(), name+".pack"))
}

func (p *packWriter) pass(x Packed, open func(Packed) (io.ReadCloser, int64, error)) error {
	r, size, err := open(x)
	if err != nil {
		return err
	}
	return errors.Join(p.write(x.Kind, r, size), r.Close())
}

func writeIndex(name string, idx *idxfile.MemoryIndex) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	_, err = idxfile.NewEncoder(w).Encode(idx)
	return errors.Join(err, w.Flush(), f.Close())
}
