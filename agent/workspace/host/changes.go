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
	"sync"
	"syscall"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// baseline is the initial state of the tree.
type baseline struct {
	done  chan struct{}
	err   error
	files map[string]stamp // nil with an upper layer, which has exactly the changes
	agent *ignores
	base  *os.Root // nil if the base is not visible
	upper *os.Root
	layer *os.Root // set-up layer below the base; nil if none
	tree  *os.Root
}

// stamp detects changes of a file. Any write or exchange updates the ctime, which
// commands cannot set.
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
	if cfg.Layer != "" {
		if b.layer, err = os.OpenRoot(cfg.Layer); err != nil {
			return nil, fmt.Errorf("open layer: %w", err)
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
	agent.root = b.base // commands cannot change the files there
	return b, nil
}

func (b *baseline) close() {
	for _, r := range []*os.Root{b.base, b.upper, b.layer} {
		if r != nil {
			_ = r.Close()
		}
	}
}

// scan reads the whole tree once, before any change.
func (b *baseline) scan(ctx context.Context, h *host) {
	defer close(b.done)
	if b.upper != nil {
		return
	}
	w := walkTracked(h.root, func(n *node) { b.files[n.path] = stampNode(n) })
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

// wait waits until the baseline is complete. The tree must not change before.
func (b *baseline) wait(ctx context.Context) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxListed is the maximum number of listed changes. Further new files are only counted.
const maxListed = 100_000

// walkTracked walks over the files that a commit can hold: regular files and symlinks,
// outside of git's own directories.
func walkTracked(root *os.Root, visit func(n *node)) *walker {
	return &walker{root: root, visit: func(n *node) (bool, error) {
		switch {
		case isSkipped(path.Base(n.path)):
			return false, nil
		case n.isDir():
			return true, nil
		case trackable(n):
			visit(n)
		}
		return false, nil
	}}
}

// isSkipped reports whether a commit never holds files of this name.
func isSkipped(name string) bool { return name == ".git" || strings.HasPrefix(name, tempPrefix) }

func trackable(n *node) bool { return n.mode.IsRegular() || n.mode&fs.ModeSymlink != 0 }

// diff compares the tree with the base, ignored files included.
func (h *host) diff(ctx context.Context) (*diff, error) {
	if err := h.base.wait(ctx); err != nil {
		return nil, err
	}
	d := &diff{h: h, seen: map[string]bool{}}
	if h.base.upper != nil {
		return d, d.layers(ctx, ".")
	}
	return d, d.stamps(ctx)
}

// changes compares the tree with the base. It omits new files excluded by .gitignore,
// because they would not be committed, unless write has written them or they are carried.
func (h *host) changes(ctx context.Context) ([]workspace.WireChange, error) {
	d, err := h.diff(ctx)
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	h.git.refresh()
	carried := sync.OnceValue(d.carried)
	out, more := d.out, 0
	for i := range d.fresh {
		n := &d.fresh[i]
		wrote, made := h.wroteFile(n)
		ignored := h.git.matchNew(n.path, n.isDir())
		switch {
		case ignored && !wrote && !carried()[n.path]: //control:told-to-write
		case len(out) >= maxListed:
			more++
		default:
			c := changeOf(n, workspace.Created)
			c.Wrote = wrote
			if !trackable(n) {
				c.Why = kindOf(n.mode)
			} else if ignored && !made && !carried()[n.path] {
				c.Why = "`.gitignore`" + ignoredWhy
				if !h.git.match(n.path, n.isDir()) {
					c.Why = "an ignore file of the clone's owner" + ignoredWhy
				}
			}
			out = append(out, c)
		}
	}
	if more > 0 {
		out = append(
			out,
			workspace.WireChange{
				Path: []byte("."),
				Why:  fmt.Sprintf("%d new files more than the %d changed ones that are kept at a time", more, maxListed),
			},
		)
	}
	slices.SortFunc(out, func(a, b workspace.WireChange) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return out, nil
}

// ignoredWhy explains why an edit of an ignored file is not stored: a command made that
// file, as an installation makes node_modules. It follows the name of the rules.
const ignoredWhy = " covers it, and a command made it; to keep it, delete it and write it anew"

// carried returns new files that are part of the work although .gitignore covers them: those
// that git tracks in the workspace, as after `git add -f` and `git mv`, and those with the
// content of a deleted file, and with its name or in its directory, as after mv.
func (d *diff) carried() map[string]bool {
	out := trackedFiles(d.h.root) //control:tracked-is-carried
	gone, dirs := map[string][]string{}, map[string]bool{}
	for _, c := range d.out {
		if c.Kind == workspace.Deleted {
			dir, name := path.Split(string(c.Path))
			gone[name], gone[dir] = append(gone[name], dir+name), append(gone[dir], dir+name)
		}
	}
	for _, n := range d.fresh {
		dir, name := path.Split(n.path)
		same := func(from string) bool { return d.h.base.sameAs(d.h.base.base, from, &n) }
		if n.stat.Size > 0 && (slices.ContainsFunc(gone[name], same) || slices.ContainsFunc(gone[dir], same)) { //control:moved-is-carried
			out[n.path], dirs[path.Dir(n.path)] = true, true
		}
	}
	for _, n := range d.fresh { // empty files are alike everywhere, so their neighbors decide
		if n.stat.Size == 0 && dirs[path.Dir(n.path)] && gone[path.Base(n.path)] != nil {
			out[n.path] = true
		}
	}
	return out
}

// diff collects changes.
type diff struct {
	h      *host
	out    []workspace.WireChange
	fresh  []node // including special files
	seen   map[string]bool
	closed []string // unreadable directories, and other work trees
}

// shut records an unreadable directory. Its content is unknown, and so does not count
// as deleted.
func (d *diff) shut(dir string) { d.leave(dir, "a directory that cannot be read") }

// leave leaves a directory out with all its content.
func (d *diff) leave(dir, why string) {
	if !slices.Contains(d.closed, dir) { //control:closed-directory
		d.closed = append(d.closed, dir)
		d.out = append(d.out, workspace.WireChange{Path: []byte(dir), Mode: fs.ModeDir, Why: why})
	}
}

// workTree explains why a work tree of another branch is left out: it has all files twice.
const workTree = "a work tree of another branch; what is committed there comes here by `git merge`"

// isReadable reports whether a path is outside of all unreadable directories.
func (d *diff) isReadable(p string) bool {
	return !slices.ContainsFunc(d.closed, func(dir string) bool { return dir == "." || strings.HasPrefix(p, dir+"/") })
}

// isSpecial reports whether no commit can hold n.
func isSpecial(n *node) bool { return !n.isDir() && !trackable(n) && !isSkipped(path.Base(n.path)) }

// kindOf describes a file that no commit can hold.
func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m.IsDir():
		return "a directory that cannot be read"
	}
	return "a device"
}

// stamps compares the whole tree with the result of scan.
func (d *diff) stamps(ctx context.Context) error {
	files := d.h.base.files
	w := d.walkAll(d.h.root, func(n *node) {
		old, ok := files[n.path]
		switch {
		case !ok:
			d.fresh = append(d.fresh, *n)
		case old == stampNode(n):
		case d.h.base.inLayer(n.path):
			d.create(n)
		case !d.h.base.same(n):
			d.out = append(d.out, changeOf(n, workspace.Modified))
		}
		d.seen[n.path] = ok
	})
	if err := w.walk(ctx, "."); err != nil {
		return err
	}
	for p, old := range files {
		if !d.seen[p] && d.isReadable(p) && !d.h.base.inLayer(p) {
			d.out = append(d.out, workspace.WireChange{Path: []byte(p), Kind: workspace.Deleted, Mode: old.mode, Size: old.size})
		}
	}
	return nil
}

// walkAll is the function [walkAll], but also records files that no commit can hold.
func (d *diff) walkAll(root *os.Root, visit func(n *node)) *walker {
	w := walkTracked(root, visit)
	return d.further(w, func(n *node) { d.fresh = append(d.fresh, *n) })
}

// further lets a walker also see files that no commit can hold, and leave out directories.
func (d *diff) further(w *walker, special func(n *node)) *walker {
	inner := w.visit
	w.closed = d.shut
	w.enter = func(dir string, names []string) {
		_, linked := slices.BinarySearch(names, ".git")
		if linked && dir != "." && isWorkTree(d.h.root, dir) { //control:work-tree-is-left
			d.leave(dir, workTree)
		}
	}
	w.visit = func(n *node) (bool, error) {
		switch {
		case !d.isReadable(n.path):
			return false, nil
		case isSpecial(n):
			special(n)
		}
		return inner(n)
	}
	return w
}

func changeOf(n *node, kind workspace.ChangeKind) workspace.WireChange {
	return workspace.WireChange{Path: []byte(n.path), Kind: kind, Mode: n.mode, Size: n.stat.Size}
}

// maxCompared is the maximum size in bytes of a file to compare with the base.
const maxCompared = 1 << 20

// same reports whether a touched file equals the base. It returns false if the
// comparison would take too long.
func (b *baseline) same(n *node) bool { return b.sameAs(b.base, n.path, n) }

// create adds a file that the base lacks, unless it equals the set-up layer.
func (d *diff) create(n *node) {
	if !d.h.base.sameAs(d.h.base.layer, n.path, n) { //control:layer-is-no-change
		d.fresh = append(d.fresh, *n)
	}
}

// inLayer reports whether a path exists in the set-up layer, and not in the base.
func (b *baseline) inLayer(name string) bool {
	if b.layer == nil {
		return false
	}
	if b.base != nil {
		if _, err := b.base.Lstat(name); err == nil {
			return false
		}
	}
	_, err := b.layer.Lstat(name)
	return err == nil
}

// sameAs reports whether a file equals the one of a name in a tree below.
func (b *baseline) sameAs(below *os.Root, name string, n *node) bool {
	if below == nil || !n.mode.IsRegular() || n.stat.Size > maxCompared {
		return false
	}
	old, err := below.Lstat(name)
	if err != nil || !old.Mode().IsRegular() || old.Size() != n.stat.Size || (old.Mode()^n.mode)&0o100 != 0 {
		return false
	}
	was, err := readPlain(below, name)
	if err != nil {
		return false
	}
	is, err := readPlain(b.top(), n.path)
	return err == nil && bytes.Equal(was, is)
}

// top returns the directory from which to read the present files.
func (b *baseline) top() *os.Root {
	if b.upper != nil {
		return b.upper
	}
	return b.tree
}

// readPlain reads a regular file of at most maxCompared bytes.
func readPlain(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxCompared+1))
}
