package host

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"syscall"
)

// Limits of a search: objects that it reads, bytes of one, packs, and steps from a packed
// object to the one that it builds on.
const (
	maxObjects = 20_000
	maxObject  = 16 << 20
	maxPacks   = 50
	maxSteps   = 100
)

// kind is the kind of an object, as packs number them.
type kind byte

const (
	kindCommit kind = 1
	kindTree   kind = 2
	kindTag    kind = 4
	kindOffset kind = 6 // a difference from an object before it in the pack
	kindDelta  kind = 7 // a difference from another object
)

// objects reads the objects that were made in the workspace. They are untrusted: malformed or
// oversized content counts as missing.
type objects struct {
	root  *os.Root
	packs []*pack
	left  int // objects that may still be read
}

func newObjects(root *os.Root) *objects {
	o := &objects{root: root, left: maxObjects}
	for _, name := range o.list(".git/objects/pack") {
		base, ok := strings.CutSuffix(name, ".idx")
		if !ok || len(o.packs) == maxPacks {
			continue
		}
		base = path.Join(".git/objects/pack", base)
		p := &pack{}
		if p.ids, p.at = parseIndex(o.read(base + ".idx")); p.at == nil {
			continue
		}
		if p.file = o.open(base + ".pack"); p.file != nil {
			o.packs = append(o.packs, p)
		}
	}
	return o
}

func (o *objects) close() {
	for _, p := range o.packs {
		_ = p.file.Close() // it was only read
	}
}

// list returns the names in a directory; none if it cannot be read.
func (o *objects) list(dir string) []string {
	f, err := o.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	names, _ := f.Readdirnames(maxObjects) // a part is of use
	return names
}

// parseIndex returns the ids in a pack and their offsets; nothing if the index is malformed.
func parseIndex(data []byte) (ids []byte, at []int64) {
	const begin = 8 + 256*4
	if len(data) < begin || !bytes.HasPrefix(data, []byte("\xfftOc\x00\x00\x00\x02")) {
		return nil, nil
	}
	n := int(binary.BigEndian.Uint32(data[begin-4:]))
	if data = data[begin:]; n > len(data)/(sha1.Size+8) {
		return nil, nil
	}
	ids, data = data[:n*sha1.Size], data[n*(sha1.Size+4):]
	large := data[n*4:]
	at = make([]int64, n)
	for i := range at {
		v := binary.BigEndian.Uint32(data[i*4:])
		at[i] = int64(v)
		if far := int(v&^(1<<31)) * 8; v>>31 == 1 && far+8 <= len(large) {
			at[i] = int64(binary.BigEndian.Uint64(large[far:]))
		}
	}
	return ids, at
}

// commitIDs returns the ids of the commits. It notes the kinds of objects in kinds, and reads none that is there.
func (o *objects) commitIDs(kinds map[string]kind) (out []string) {
	unread := maxObjects
	add := func(id string, of func() kind) {
		k, known := kinds[id]
		if !known && unread > 0 {
			unread--
			k = of()
			kinds[id] = k
		}
		if k == kindCommit {
			out = append(out, id)
		}
	}
	for i := range 256 {
		begin := hex.EncodeToString([]byte{byte(i)})
		for _, rest := range o.list(path.Join(".git/objects", begin)) {
			if id := begin + rest; isID(id) {
				add(id, func() kind {
					k, _ := o.loose(id, maxHead)
					return k
				})
			}
		}
	}
	for _, p := range o.packs {
		order := make([]int, len(p.at))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.at[a], p.at[b]) }) // git begins with commits
		for _, i := range order[:min(len(order), maxObjects)] {
			add(hex.EncodeToString(p.id(i)), func() kind { return p.kind(p.at[i]) })
		}
	}
	return out
}

// object returns an object that was made in the workspace, if it has this kind.
func (o *objects) object(id string, want kind) ([]byte, bool) {
	if o.left--; o.left < 0 || !isID(id) {
		return nil, false
	}
	k, data := o.loose(id, maxObject)
	for i := 0; data == nil && i < len(o.packs); i++ {
		if at, ok := o.packs[i].find(id); ok {
			k, data = o.packs[i].object(at, maxSteps)
		}
	}
	return data, data != nil && k == want
}

// has reports whether an object was made in the workspace.
func (o *objects) has(id string) bool {
	_, err := o.root.Lstat(path.Join(".git/objects", id[:2], id[2:]))
	return err == nil || slices.ContainsFunc(o.packs, func(p *pack) bool { _, ok := p.find(id); return ok })
}

// maxHead is the number of bytes of an object that are read to learn its kind.
const maxHead = 64

// loose returns the content of an object with a file of its own, or the begin of it; nil if
// there is none.
func (o *objects) loose(id string, limit int64) (kind, []byte) {
	f := o.open(path.Join(".git/objects", id[:2], id[2:]))
	if f == nil {
		return 0, nil
	}
	defer func() { _ = f.Close() }()
	data, ok := inflate(f, limit)
	head, content, found := bytes.Cut(data, []byte{0})
	if name, _, _ := strings.Cut(string(head), " "); ok && found {
		return map[string]kind{"commit": kindCommit, "tree": kindTree, "tag": kindTag}[name], content
	}
	return 0, nil
}

// inflate returns at most limit bytes of compressed content.
func inflate(from io.Reader, limit int64) ([]byte, bool) {
	z, err := zlib.NewReader(bufio.NewReader(from))
	if err != nil {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(z, limit))
	return data, err == nil
}

// pack is a file of many objects.
type pack struct {
	file *os.File
	ids  []byte // sorted
	at   []int64
}

func (p *pack) id(i int) []byte { return p.ids[i*sha1.Size : (i+1)*sha1.Size] }

// find returns the offset of an object.
func (p *pack) find(id string) (int64, bool) {
	want, err := hex.DecodeString(id)
	i, ok := sort.Find(len(p.at), func(i int) int { return bytes.Compare(want, p.id(i)) })
	if err != nil || !ok {
		return 0, false
	}
	return p.at[i], true
}

// head returns the kind of the object at an offset, the offset of the one that it is a
// difference from, and that of its data.
func (p *pack) head(at int64) (k kind, base, data int64, ok bool) {
	buf := make([]byte, maxHead)
	n, _ := p.file.ReadAt(buf, at) // the end of the file may be near
	r := bytes.NewReader(buf[:n])
	b, err := r.ReadByte()
	k = kind(b >> 4 & 7)
	for err == nil && b&0x80 != 0 {
		b, err = r.ReadByte()
	}
	switch k {
	case kindOffset:
		b, err = r.ReadByte()
		far := int64(b & 0x7f)
		for err == nil && b&0x80 != 0 && far < 1<<40 {
			b, err = r.ReadByte()
			far = (far+1)<<7 | int64(b&0x7f)
		}
		base = at - far
	case kindDelta:
		id := make([]byte, sha1.Size)
		_, err = io.ReadFull(r, id)
		base, ok = p.find(hex.EncodeToString(id))
		if !ok {
			return 0, 0, 0, false
		}
	}
	return k, base, at + int64(n-r.Len()), err == nil && base >= 0
}

// kind returns the kind of the object at an offset; 0 if it cannot be told.
func (p *pack) kind(at int64) kind {
	for range maxSteps {
		k, base, _, ok := p.head(at)
		if !ok {
			return 0
		}
		if k != kindOffset && k != kindDelta {
			return k
		}
		at = base
	}
	return 0
}

// object returns the content of the object at an offset; nil if it cannot be read.
func (p *pack) object(at int64, steps int) (kind, []byte) {
	k, base, begin, ok := p.head(at)
	if !ok || steps == 0 {
		return 0, nil
	}
	data, ok := inflate(io.NewSectionReader(p.file, begin, maxObject), maxObject)
	if !ok {
		return 0, nil
	}
	if k != kindOffset && k != kindDelta {
		return k, data
	}
	k, from := p.object(base, steps-1)
	if from == nil {
		return 0, nil
	}
	return k, patched(from, data)
}

// patched applies a packed difference to the content that it is from; nil if it does not fit.
func patched(from, delta []byte) []byte {
	size, n := binary.Uvarint(delta)
	to, m := binary.Uvarint(delta[max(n, 0):])
	if n <= 0 || m <= 0 || size != uint64(len(from)) || to > maxObject {
		return nil
	}
	out := make([]byte, 0, to)
	for delta = delta[n+m:]; len(delta) > 0; {
		op := delta[0]
		delta = delta[1:]
		part := delta[:min(int(op), len(delta))] // new content
		if op&0x80 == 0 {
			delta = delta[len(part):]
		} else {
			var at, length int
			for bit := range 7 {
				if op>>bit&1 == 0 {
					continue
				}
				if len(delta) == 0 {
					return nil
				}
				if bit < 4 {
					at |= int(delta[0]) << (8 * bit)
				} else {
					length |= int(delta[0]) << (8 * (bit - 4))
				}
				delta = delta[1:]
			}
			if length == 0 {
				length = 1 << 16
			}
			if at+length > len(from) {
				return nil
			}
			part = from[at : at+length]
		}
		if len(part) == 0 || uint64(len(out)+len(part)) > to {
			return nil
		}
		out = append(out, part...)
	}
	if uint64(len(out)) != to {
		return nil
	}
	return out
}

// read returns the content of a regular file; nil if there is none, or it is too large.
func (o *objects) read(name string) []byte {
	f := o.open(name)
	if f == nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxObject+1))
	if err != nil || len(data) > maxObject {
		return nil
	}
	return data
}

// open opens a regular file; nil if there is none.
func (o *objects) open(name string) *os.File {
	f, err := o.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil
	}
	return f
}

func isID(s string) bool { return len(s) == 2*sha1.Size && strings.Trim(s, "0123456789abcdef") == "" }
