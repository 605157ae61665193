package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// baseline is what the tree was when it was opened.
type baseline struct {
	done  chan struct{}
	err   error
	files map[string]stamp // nil with an upper layer, which tells by itself
	agent *ignores
	base  *os.Root // the base, when it can be seen
	upper *os.Root
	tree  *os.Root
}

// stamp tells whether a file has changed. Any write or exchange moves the change
// time, which commands cannot set.
type stamp struct {
	size, mtime, ctime int64
	ino                uint64
	mode               fs.FileMode
}

func stampNode(n *node) stamp {
	return stamp{size: n.stat.Size, mtime: n.stat.Mtim.Nano(), ctime: n.stat.Ctim.Nano(), ino: n.stat.Ino, mode: n.mode}
}

func newBaseline(cfg Config, agent *ignores) (*baseline, error) {
	b := &baseline{done: make(chan struct{}), agent: agent}
	var err error
	if cfg.Base != "" {
		if b.base, err = os.OpenRoot(cfg.Base); err != nil {
			return nil, fmt.Errorf("open base: %w", err)
		}
	}
	if cfg.Upper == "" {
		b.files = map[string]stamp{}
		return b, nil
	}
	if b.base == nil {
		return nil, errors.New("open base: an upper layer needs the base below it")
	}
	if b.upper, err = os.OpenRoot(cfg.Upper); err != nil {
		return nil, errors.Join(fmt.Errorf("open upper layer: %w", err), b.base.Close())
	}
	agent.root = b.base // where commands cannot change them
	return b, nil
}

func (b *baseline) close() {
	for _, r := range []*os.Root{b.base, b.upper} {
		if r != nil {
			_ = r.Close()
		}
	}
}

// scan reads the whole tree once, before anything can change it.
func (b *baseline) scan(ctx context.Context, h *host) {
	defer close(b.done)
	if b.upper != nil {
		return
	}
	w := tracked(h.root, func(n *node) { b.files[n.path] = stampNode(n) })
	w.enter = func(dir string, names []string) {
		if _, ok := slices.BinarySearch(names, b.agent.name); ok {
			b.agent.load(dir)
		}
	}
	if err := w.walk(ctx, "."); err != nil {
		b.err = fmt.Errorf("scan workspace: %w", err)
		return
	}
	b.agent.seal()
}

// wait returns when the base is known. Nothing may change the tree before.
func (b *baseline) wait(ctx context.Context) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tracked walks over what can be in a commit: regular files and symlinks,
// outside of git's own directories.
func tracked(root *os.Root, visit func(n *node)) *walker {
	return &walker{root: root, visit: func(n *node) (bool, error) {
		switch {
		case skipped(path.Base(n.path)):
			return false, nil
		case n.isDir():
			return true, nil
		case trackable(n):
			visit(n)
		}
		return false, nil
	}}
}

// skipped reports whether files of this name are never part of a commit.
func skipped(name string) bool { return name == ".git" || strings.HasPrefix(name, tempPrefix) }

func trackable(n *node) bool { return n.mode.IsRegular() || n.mode&fs.ModeSymlink != 0 }

// changes compares the tree with the base. A new file that .gitignore excludes is
// no change, because it would not be committed.
func (h *host) changes(ctx context.Context) ([]workspace.WireChange, error) {
	if err := h.base.wait(ctx); err != nil {
		return nil, err
	}
	d := &diff{h: h, seen: map[string]bool{}}
	var err error
	if h.base.upper != nil {
		err = d.layers(ctx, ".")
	} else {
		err = d.stamps(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	h.git.refresh()
	out := d.out
	for i := range d.fresh {
		if !h.git.match(d.fresh[i].path, false) {
			out = append(out, changeOf(&d.fresh[i], workspace.Created))
		}
	}
	slices.SortFunc(out, func(a, b workspace.WireChange) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return out, nil
}

// diff collects changes.
type diff struct {
	h     *host
	out   []workspace.WireChange
	fresh []node
	seen  map[string]bool
}

// stamps compares the whole tree with what scan saw.
func (d *diff) stamps(ctx context.Context) error {
	files := d.h.base.files
	w := tracked(d.h.root, func(n *node) {
		old, ok := files[n.path]
		switch {
		case !ok:
			d.fresh = append(d.fresh, *n)
		case old != stampNode(n) && !d.h.base.same(n):
			d.out = append(d.out, changeOf(n, workspace.Modified))
		}
		d.seen[n.path] = ok
	})
	if err := w.walk(ctx, "."); err != nil {
		return err
	}
	for p, old := range files {
		if !d.seen[p] {
			d.out = append(d.out, workspace.WireChange{Path: []byte(p), Kind: workspace.Deleted, Mode: old.mode, Size: old.size})
		}
	}
	return nil
}

func changeOf(n *node, kind workspace.ChangeKind) workspace.WireChange {
	return workspace.WireChange{Path: []byte(n.path), Kind: kind, Mode: n.mode, Size: n.stat.Size}
}

// maxCompared is the largest file whose content is compared with the base.
const maxCompared = 1 << 20

// same reports whether a touched file is as it was in the base. It reports false
// where that would take long to find out.
func (b *baseline) same(n *node) bool {
	if b.base == nil || !n.mode.IsRegular() || n.stat.Size > maxCompared {
		return false
	}
	old, err := b.base.Lstat(n.path)
	if err != nil || !old.Mode().IsRegular() || old.Size() != n.stat.Size || (old.Mode()^n.mode)&0o100 != 0 {
		return false
	}
	return sameBytes(b.base, b.top(), n.path)
}

// top returns the directory in which the present files can be read.
func (b *baseline) top() *os.Root {
	if b.upper != nil {
		return b.upper
	}
	return b.tree
}

func sameBytes(x, y *os.Root, path string) bool {
	var data [2][]byte
	for i, root := range []*os.Root{x, y} {
		f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return false
		}
		data[i], err = io.ReadAll(io.LimitReader(f, maxCompared+1))
		f.Close()
		if err != nil {
			return false
		}
	}
	return bytes.Equal(data[0], data[1])
}
