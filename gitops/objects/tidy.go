package objects

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// Limits are the thresholds for tidying a mirror.
type Limits struct {
	Packs int           // number of packs above which the small ones are joined
	Loose int           // number of loose objects above which they are packed
	Age   time.Duration // age from which a file is not in use
}

// Tidy keeps a long-lived mirror fast: each fetch adds a pack, each checkpoint adds
// loose objects, and every lookup searches all of them. No object is deleted.
// Concurrent readers have the old files open, or open the new ones, see [DB].
func (p *Packs) Tidy(ctx context.Context, most Limits) error {
	if old := time.Now().Add(-most.Age); p.looseCount(old) > most.Loose {
		if err := p.packLoose(ctx, old); err != nil {
			return fmt.Errorf("pack loose objects: %w", err)
		}
	}
	list, err := p.list()
	if err != nil || len(list) <= most.Packs {
		return err
	}
	start, few := time.Now(), toJoin(list)
	if err := p.join(ctx, few); err != nil {
		return fmt.Errorf("join packs: %w", err)
	}
	p.Log.LogAttrs(
		ctx,
		slog.LevelInfo,
		"joined packs",
		slog.Int("packs", len(few)),
		slog.Duration("took", time.Since(start)),
	)
	return nil
}

// Sweep removes temporary files of killed processes. No fetch may be in progress, so
// temporary packs go at any age. Other files may belong to pushes in progress, and go
// only if older than age.
func (p *Packs) Sweep(age time.Duration) {
	for _, pattern := range []string{"objects/pack/tmp_*", "objects/tmp_*", "tmp_*"} {
		left, _ := filepath.Glob(filepath.Join(p.Dir, filepath.FromSlash(pattern)))
		for _, f := range left {
			name := filepath.Base(f)
			info, err := os.Stat(f)
			if strings.HasPrefix(name, "tmp_pack_") || strings.HasPrefix(name, "tmp_idx_") ||
				err == nil && time.Since(info.ModTime()) > age {
				drop(f)
			}
		}
	}
}

// packFile is one pack of a mirror.
type packFile struct {
	path     string // without the extension
	size     int64
	promised bool             // has the marker of a promisor pack
	objects  []*idxfile.Entry // set while joining
}

func (p *Packs) list() ([]packFile, error) {
	files, err := filepath.Glob(filepath.Join(p.Dir, "objects", "pack", "pack-*.pack"))
	if err != nil {
		return nil, err
	}
	list := make([]packFile, 0, len(files))
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		path := strings.TrimSuffix(f, ".pack")
		_, err = os.Stat(path + promisedExt)
		list = append(list, packFile{path: path, size: info.Size(), promised: err == nil})
	}
	return list, nil
}

// toJoin selects the small packs, so that each remaining pack is at least twice as
// large as all smaller ones together. A byte is then copied only a few times in its
// life, not at every tidying.
func toJoin(list []packFile) []packFile {
	slices.SortFunc(list, func(a, b packFile) int { return cmp.Compare(a.size, b.size) })
	n := 0
	for i := len(list) - 1; i > 0 && n == 0; i-- {
		if list[i].size < 2*list[i-1].size {
			n = i + 1
		}
	}
	var sum int64
	for _, p := range list[:n] {
		sum += p.size
	}
	for n < len(list) && list[n].size < 2*sum {
		sum += list[n].size
		n++
	}
	return list[:n]
}

// join concatenates packs into a new one. Objects keep their stored form: a delta
// refers to its base by relative offset or by id, and both remain valid. A pack that
// repeats an object of an earlier one is left alone. With one part of a promisor, git may
// take any missing object that the new pack refers to as promised.
func (p *Packs) join(ctx context.Context, list []packFile) error {
	seen := map[plumbing.Hash]bool{}
	var parts []packFile
	for _, part := range list {
		if err := part.readIndex(); err != nil {
			return fmt.Errorf("read index of %s: %w", filepath.Base(part.path), err)
		}
		if slices.ContainsFunc(part.objects, func(e *idxfile.Entry) bool { return seen[e.Hash] }) {
			continue
		}
		for _, e := range part.objects {
			seen[e.Hash] = true
		}
		parts = append(parts, part)
	}
	if len(parts) < 2 {
		return nil
	}
	promised := slices.ContainsFunc(parts, func(part packFile) bool { return part.promised })
	err := p.create(
		promised,
		func(f *os.File) (*idxfile.MemoryIndex, error) { return writeJoined(ctx, f, parts, len(seen)) },
	)
	for _, part := range parts { // .pack first, because readers look for it
		if err == nil {
			err = errors.Join(os.Remove(part.path+".pack"), os.Remove(part.path+".idx"))
			drop(part.path + promisedExt)
		}
	}
	p.Pool.Renew()
	return err
}

func (part *packFile) readIndex() error {
	f, err := os.Open(part.path + ".idx")
	if err != nil {
		return err
	}
	defer f.Close()
	idx := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(bufio.NewReader(f)).Decode(idx); err != nil {
		return err
	}
	iter, err := idx.Entries()
	for err == nil {
		var e *idxfile.Entry
		if e, err = iter.Next(); err == nil {
			part.objects = append(part.objects, e)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil // a list in memory needs no Close
	}
	return err
}

// writeJoined writes the joined pack and returns its index.
func writeJoined(ctx context.Context, out io.Writer, parts []packFile, objects int) (*idxfile.MemoryIndex, error) {
	p, err := newPackWriter(out, objects, zlib.NoCompression)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		shift := p.at - packHead // added to the offset of each object
		if err := part.copy(p); err != nil {
			return nil, fmt.Errorf("copy %s: %w", filepath.Base(part.path), err)
		}
		for _, e := range part.objects {
			p.idx.Add(e.Hash, e.Offset+shift, e.CRC32) //control:joined-packs
		}
	}
	return p.close()
}

// copy writes the objects of a pack, and verifies its checksum.
func (part *packFile) copy(w io.Writer) error {
	f, err := os.Open(part.path + ".pack")
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha1.New()
	in := io.TeeReader(io.LimitReader(f, part.size-sha1.Size), sum)
	if _, err = io.CopyN(io.Discard, in, packHead); err == nil {
		_, err = io.Copy(w, in)
	}
	want, rerr := io.ReadAll(f)
	if err = errors.Join(err, rerr); err == nil && !bytes.Equal(want, sum.Sum(nil)) {
		err = fmt.Errorf("the pack is damaged: its sum is %x, and it says %x", sum.Sum(nil), want)
	}
	return err
}

// looseCount estimates the number of loose objects older than before by counting one
// of the 256 directories.
func (p *Packs) looseCount(before time.Time) int {
	list, err := os.ReadDir(filepath.Join(p.Dir, "objects", "17"))
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range list {
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			n++
		}
	}
	return 256 * n
}

// packLoose moves loose objects older than before into a pack. Younger ones may be in
// use by a checkpoint or a push.
func (p *Packs) packLoose(ctx context.Context, before time.Time) error {
	files, err := filepath.Glob(filepath.Join(p.Dir, "objects", "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return err
	}
	var list []Packed
	var old []string
	o := p.Pool.get(ctx)
	defer p.Pool.put(o)
	for _, path := range files {
		id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		info, err := os.Stat(path)
		if err != nil || !IsID(id) || info.ModTime().After(before) {
			continue
		}
		e, err := o.EncodedObject(plumbing.AnyObject, plumbing.NewHash(id))
		if err != nil {
			return fmt.Errorf("read %s: %w", id, err)
		}
		list, old = append(list, Packed{e.Type(), e.Hash()}), append(old, path)
	}
	if len(list) == 0 {
		return nil
	}
	err = p.create(false, func(f *os.File) (*idxfile.MemoryIndex, error) {
		return writePack(ctx, f, list, zlib.DefaultCompression, o.openPacked)
	})
	for _, path := range old {
		if err == nil {
			err = os.Remove(path)
		}
	}
	p.Log.LogAttrs(ctx, slog.LevelInfo, "Packed loose objects", slog.Int("objects", len(list)))
	return err
}
