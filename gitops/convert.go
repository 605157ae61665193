package gitops

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// Unstorable is the reason that a content cannot be committed as .gitattributes asks.
type Unstorable struct{ Why string }

// Error implements error.
func (u *Unstorable) Error() string { return u.Why }

// Limits in bytes of a .gitattributes file, and of a text that is converted.
const (
	maxAttributes = 1 << 20
	maxConverted  = 64 << 20
)

// converter prepares contents for a commit, as the .gitattributes files of the resulting
// tree ask.
type converter struct {
	m     *Mirror
	o     *objects.DB
	owner attributesOwner
	tree  plumbing.Hash // of the parent

	files map[string]attributesFile  // by directory
	lists map[string][]objects.Entry // entries of the parent's directories
	err   error                      // of reading the tree

	unfiltered []string
}

func newConverter(m *Mirror, o *objects.DB, parent plumbing.Hash) *converter {
	return &converter{
		m:    m,
		o:    o,
		tree: parent,
		owner: attributesOwner{
			Above: parseAttributes(m.settings.Above),
			Below: parseAttributes(m.settings.Below),
			Auto:  m.settings.AutoCRLF,

			Caseless: m.settings.Caseless,
		},
		files: map[string]attributesFile{},
		lists: map[string][]objects.Entry{},
	}
}

// learn reads the changed .gitattributes files. Their contents can be read once, so it
// returns changes that have them.
func (c *converter) learn(changes []Change) []Change {
	for i, ch := range changes {
		if path.Base(ch.Path) != attributesName || ch.Keep {
			continue
		}
		c.files[path.Dir(ch.Path)] = attributesFile{}
		if ch.Delete || ch.Symlink || ch.Open == nil {
			continue
		}
		r, err := ch.Open()
		if err != nil {
			continue // storing the file reports the error
		}
		data, err := io.ReadAll(io.LimitReader(r, maxAttributes+1))
		if err = errors.Join(err, r.Close()); err != nil || len(data) > maxAttributes {
			continue
		}
		c.files[path.Dir(ch.Path)] = parseAttributes(string(data))
		changes = slices.Clone(changes)
		changes[i].Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	}
	return changes
}

// in returns the .gitattributes file of a directory.
func (c *converter) in(dir string) attributesFile {
	if f, ok := c.files[dir]; ok {
		return f
	}
	var f attributesFile
	list := c.list(dir)
	if i := slices.IndexFunc(list, func(e objects.Entry) bool { return e.Name == attributesName && e.IsFile() }); i >= 0 {
		data, err := c.o.Read(plumbing.BlobObject, list[i].Hash, maxAttributes)
		if err == nil {
			f = parseAttributes(string(data))
		} else if !errors.Is(err, ErrTooLarge) {
			c.err = err
		}
	}
	c.files[dir] = f
	return f
}

// list returns the entries of a directory of the parent.
func (c *converter) list(dir string) []objects.Entry {
	if list, ok := c.lists[dir]; ok {
		return list
	}
	at := objects.Entry{}
	if dir == "." {
		at.Hash = c.tree
	} else if up := c.list(path.Dir(dir)); len(up) > 0 {
		if i := slices.IndexFunc(up, func(e objects.Entry) bool { return e.Name == path.Base(dir) && e.IsDir() }); i >= 0 {
			at = up[i]
		}
	}
	list, err := c.o.Tree(at.Hash)
	if err != nil {
		c.err = err
	}
	c.lists[dir] = list
	return list
}

// write stores the content of a file. before returns its last saved content.
func (c *converter) write(
	name string,
	r io.Reader,
	limit int64,
	before func() ([]byte, error),
) (plumbing.Hash, bool, error) {
	conv := c.owner.Convert(c.owner.Of(name, c.in))
	switch {
	case c.err != nil:
		return plumbing.ZeroHash, false, c.err
	case conv.Filter == "lfs":
		return c.writePointer(r, limit)
	case strings.Contains(conv.Filter, "crypt"):
		h, err := c.writeKnown(r, limit)
		return h, false, err
	}
	if slices.Contains(c.m.settings.Filters, conv.Filter) { //control:filters-are-told
		c.unfiltered = append(c.unfiltered, name)
	}
	if conv.Plain() { //control:attributes-count
		h, err := c.o.WriteBlob(r, limit)
		return h, false, err
	}
	room := min(limit, maxConverted)
	data, err := io.ReadAll(io.LimitReader(r, room+1))
	if err != nil {
		return plumbing.ZeroHash, false, err
	}
	content := io.MultiReader(bytes.NewReader(data), r)
	if int64(len(data)) <= room {
		old, err := before()
		if err == nil {
			data, err = conv.Content(data, old)
		}
		if err != nil {
			return plumbing.ZeroHash, false, err
		}
		content = bytes.NewReader(data)
	}
	h, err := c.o.WriteBlob(content, limit)
	return h, false, err
}

// writeKnown stores a content that an encrypting filter would change. Only bytes that the
// repository has already are safe: others may be the secret itself.
func (c *converter) writeKnown(r io.Reader, limit int64) (plumbing.Hash, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return plumbing.ZeroHash, err
	}
	h := plumbing.ComputeHash(plumbing.BlobObject, data)
	if int64(len(data)) > limit || !c.o.Has(h) { //control:plain-stays-home
		return h, &Unstorable{"`.gitattributes` has it encrypted, which cannot be done here: add it by hand"}
	}
	return h, nil
}

// Git LFS commits small pointers in place of the contents of files.
const (
	pointerFirst = "version https://git-lfs.github.com/spec/v1\n"
	maxPointer   = 1024
)

// isPointer reports whether a content is a pointer of Git LFS.
func isPointer(data []byte) bool {
	text := string(data)
	return len(data) < maxPointer && strings.HasPrefix(text, pointerFirst) &&
		strings.Contains(text, "\noid sha256:") && strings.Contains(text, "\nsize ")
}

// writePointer stores a content with Git LFS, and its pointer as the content. The objects
// of a local clone are uploaded by its owner's next push. It reports whether it stored one.
func (c *converter) writePointer(r io.Reader, limit int64) (plumbing.Hash, bool, error) {
	first, err := io.ReadAll(io.LimitReader(r, maxPointer))
	if err != nil {
		return plumbing.ZeroHash, false, err
	}
	if len(first) == 0 || isPointer(first) {
		h, err := c.o.Write(plumbing.BlobObject, first)
		return h, false, err
	}
	if c.m.url != "" { //control:lfs-is-told
		return plumbing.ZeroHash, false, &Unstorable{
			"Git LFS keeps the contents of such files, and they cannot be uploaded from here: add it by hand",
		}
	}
	store, err := c.m.lfsStorage()
	if err == nil {
		err = os.MkdirAll(filepath.Join(store, "tmp"), 0o755)
	}
	if err != nil {
		return plumbing.ZeroHash, false, err
	}
	f, err := os.CreateTemp(filepath.Join(store, "tmp"), "handrail-*")
	if err != nil {
		return plumbing.ZeroHash, false, err
	}
	defer removeTemp(f.Name()) // fails after the rename
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(io.MultiReader(bytes.NewReader(first), r), limit+1))
	if err == nil && size > limit {
		err = fmt.Errorf("%w: limit is %d bytes", ErrTooLarge, limit)
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Sync()); err != nil {
		return plumbing.ZeroHash, false, err
	}
	id := hex.EncodeToString(sum.Sum(nil))
	dir := filepath.Join(store, "objects", id[:2], id[2:4])
	if err = os.MkdirAll(dir, 0o755); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, id))
	}
	if err != nil {
		return plumbing.ZeroHash, false, err
	}
	h, err := c.o.Write(plumbing.BlobObject, fmt.Appendf(nil, "%soid sha256:%s\nsize %d\n", pointerFirst, id, size))
	return h, true, err
}

// lfsStorage returns the directory in which Git LFS keeps the contents of a local clone.
func (m *Mirror) lfsStorage() (string, error) {
	cfg, err := readConfig(m.dir)
	if err != nil {
		return "", err
	}
	at := cfg.Section("lfs").Option("storage")
	if at == "" {
		at = "lfs"
	}
	return resolveIn(m.dir, at), nil
}
