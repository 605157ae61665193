package gitops

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

const (
	mostPacks = 32   // packs before the small ones are joined
	mostLoose = 4000 // loose objects before they are packed
)

// tidy keeps a mirror quick that has served for long: each fetch adds a pack
// and each checkpoint some loose objects, and every look-up goes by all of
// them. Nothing is thrown away. The mirror is locked. Who reads meanwhile has
// the old files open, or is told that they are gone and looks again, see
// [Mirror.use].
func (m *Mirror) tidy(ctx context.Context) error {
	packs, err := m.listPacks()
	if err != nil {
		return err
	}
	if old := time.Now().Add(-staleAge); m.looseNumber(old) > mostLoose {
		if err := m.packLoose(ctx, old); err != nil {
			return fmt.Errorf("pack loose objects: %w", err)
		}
	}
	if len(packs) <= mostPacks {
		return nil
	}
	start := time.Now()
	few := toJoin(packs)
	if err := m.join(ctx, few); err != nil {
		return fmt.Errorf("join packs: %w", err)
	}
	m.pool.renew()
	m.log.LogAttrs(ctx, slog.LevelInfo, "joined packs", slog.String("url", m.url), slog.Int("packs", len(few)), slog.Duration("took", time.Since(start)))
	return nil
}

// packFile is one pack of a mirror.
type packFile struct {
	path string // without the extension
	size int64
}

func (m *Mirror) listPacks() ([]packFile, error) {
	files, err := filepath.Glob(filepath.Join(m.dir, "objects", "pack", "pack-*.pack"))
	if err != nil {
		return nil, err
	}
	list := make([]packFile, 0, len(files))
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		list = append(list, packFile{f[:len(f)-len(".pack")], info.Size()})
	}
	return list, nil
}

// toJoin picks the small packs, so that those that stay are each at least
// twice as large as all smaller ones together: a byte is then copied a few
// times in its life and not at every tidying.
func toJoin(list []packFile) []packFile {
	sort.Slice(list, func(i, j int) bool { return list[i].size < list[j].size })
	n := 0
	for i := len(list) - 1; i > 0; i-- {
		if list[i].size < 2*list[i-1].size {
			n = i + 1
			break
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

// join puts packs one after another into a new one. Objects stay as they are
// stored: a delta names its base by how far back it is, or by its id, and both
// hold in the joined pack. A pack that repeats an object of another one is
// left alone.
func (m *Mirror) join(ctx context.Context, list []packFile) error {
	j := &joiner{seen: map[plumbing.Hash]bool{}}
	for _, p := range list {
		if err := j.take(p); err != nil {
			return err
		}
	}
	if len(j.parts) < 2 {
		return nil
	}
	f, err := os.CreateTemp(filepath.Join(m.dir, "objects", "pack"), "tmp_pack_*")
	if err != nil {
		return err
	}
	defer drop(f.Name()) // gone after the rename
	defer f.Close()
	idx, err := j.write(ctx, f)
	if err != nil {
		return err
	}
	if err := m.addPack(f, idx); err != nil {
		return err
	}
	for _, p := range j.parts { // by their packs they are found
		if err := errors.Join(os.Remove(p.path+".pack"), os.Remove(p.path+".idx")); err != nil {
			return err
		}
	}
	return nil
}

// joiner is a join under way.
type joiner struct {
	parts []joinPart
	seen  map[plumbing.Hash]bool
	count uint32
}

type joinPart struct {
	packFile
	objects []*idxfile.Entry
}

// take reads the index of a pack and plans to join it.
func (j *joiner) take(p packFile) (err error) {
	f, err := os.Open(p.path + ".idx")
	if err != nil {
		return err
	}
	defer f.Close()
	idx := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(bufio.NewReader(f)).Decode(idx); err != nil {
		return fmt.Errorf("read index of %s: %w", filepath.Base(p.path), err)
	}
	iter, err := idx.Entries()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, iter.Close()) }()
	part := joinPart{packFile: p}
	for {
		e, err := iter.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if j.seen[e.Hash] {
			return nil
		}
		part.objects = append(part.objects, e)
	}
	for _, e := range part.objects {
		j.seen[e.Hash] = true
	}
	j.parts, j.count = append(j.parts, part), j.count+uint32(len(part.objects))
	return nil
}

// write writes the joined pack and gives its index.
func (j *joiner) write(ctx context.Context, out io.Writer) (*idxfile.MemoryIndex, error) {
	buf := bufio.NewWriterSize(out, 256<<10)
	p, err := newPackWriter(buf, int(j.count))
	if err != nil {
		return nil, err
	}
	idx := &idxfile.Writer{}
	if err := idx.OnHeader(j.count); err != nil {
		return nil, err
	}
	at := int64(packHead)
	for _, part := range j.parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := part.copy(p.w); err != nil {
			return nil, fmt.Errorf("copy %s: %w", filepath.Base(part.path), err)
		}
		for _, e := range part.objects {
			idx.Add(e.Hash, e.Offset-packHead+uint64(at), e.CRC32) //control:joined-packs
		}
		at += part.size - packHead - sha1.Size
	}
	sum := p.sum.Sum(nil)
	if err := p.close(); err != nil {
		return nil, err
	}
	if err := idx.OnFooter(plumbing.Hash(sum)); err != nil {
		return nil, err
	}
	if err := buf.Flush(); err != nil {
		return nil, err
	}
	return idx.Index()
}

const packHead = 12 // bytes before the first object

// copy writes the objects of a pack, and checks that they are what the pack
// says it holds.
func (part joinPart) copy(w io.Writer) error {
	f, err := os.Open(part.path + ".pack")
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha1.New()
	var head [packHead]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return err
	}
	if n := binary.BigEndian.Uint32(head[8:]); n != uint32(len(part.objects)) {
		return fmt.Errorf("the pack has %d objects, its index %d", n, len(part.objects))
	}
	sum.Write(head[:])
	if _, err := io.CopyN(io.MultiWriter(w, sum), f, part.size-packHead-sha1.Size); err != nil {
		return err
	}
	return checkSum(f, sum)
}

func checkSum(f io.Reader, sum hash.Hash) error {
	var want [sha1.Size]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return err
	}
	if got := sum.Sum(nil); [sha1.Size]byte(got) != want {
		return fmt.Errorf("the pack is damaged: its sum is %x, and it says %x", got, want)
	}
	return nil
}

// looseNumber estimates how many loose objects there are that were written
// before a time, from one of the 256 directories.
func (m *Mirror) looseNumber(before time.Time) int {
	list, err := os.ReadDir(filepath.Join(m.dir, "objects", "17"))
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

// packLoose moves loose objects that were written before a time into a pack.
// Younger ones may be in use by a checkpoint or a push of this moment.
func (m *Mirror) packLoose(ctx context.Context, before time.Time) error {
	files, err := filepath.Glob(filepath.Join(m.dir, "objects", "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return err
	}
	var list []sendObject
	var old []string
	o := m.pool.get()
	defer m.pool.put(o)
	for _, path := range files {
		id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		info, err := os.Stat(path)
		if err != nil || !isID(id) || info.ModTime().After(before) {
			continue
		}
		e, err := o.EncodedObject(plumbing.AnyObject, plumbing.NewHash(id))
		if err != nil {
			return fmt.Errorf("read %s: %w", id, err)
		}
		list, old = append(list, sendObject{e.Type(), e.Hash()}), append(old, path)
	}
	if len(list) == 0 {
		return nil
	}
	f, err := os.CreateTemp(filepath.Join(m.dir, "objects", "pack"), "tmp_pack_*")
	if err != nil {
		return err
	}
	defer drop(f.Name()) // gone after the rename
	defer f.Close()
	if err := o.writePack(ctx, f, list); err != nil {
		return err
	}
	idx, err := indexPack(ctx, f)
	if err != nil {
		return err
	}
	if err := m.addPack(f, idx); err != nil {
		return err
	}
	m.pool.renew()
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	m.log.LogAttrs(ctx, slog.LevelInfo, "packed loose objects", slog.String("url", m.url), slog.Int("objects", len(list)))
	return nil
}
