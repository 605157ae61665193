package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// layers reads the changes below dir from the upper layer. A directory is in it if
// something below has changed. Entries of the base that are missing in the tree are
// deleted, however the overlay marks that.
func (d *diff) layers(ctx context.Context, dir string) error {
	upper, err := entries(ctx, d.h.base.upper, dir, d.shut)
	if err != nil || !d.isReadable(path.Join(dir, "x")) {
		return err
	}
	base, err := entries(ctx, d.h.base.base, dir, nil)
	if err != nil {
		return err
	}
	for name, n := range upper {
		if isSkipped(name) {
			continue
		}
		old, had := base[name]
		switch {
		case n.isDir() && had && old.isDir():
			err = d.layers(ctx, n.path)
		case n.isDir():
			err = d.addCreated(ctx, n.path)
		case !trackable(n):
			d.addSpecial(n)
		case had && trackable(old):
			if n.mode != old.mode || !d.h.base.same(n) {
				d.out = append(d.out, changeOf(n, workspace.Modified))
			}
		default:
			d.create(n)
		}
		if err != nil {
			return err
		}
	}
	for name, old := range base {
		if isSkipped(name) {
			continue
		}
		if err := d.addDeleted(ctx, old); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// addSpecial adds an entry that is neither file nor directory. The overlay marks deletions
// with a device, which the tree does not show.
func (d *diff) addSpecial(n *node) {
	if now, err := d.h.root.Lstat(n.path); err == nil && !now.Mode().IsRegular() {
		n.mode = now.Mode()
		d.fresh = append(d.fresh, *n)
	}
}

// addDeleted adds the files of a base entry that are missing in the tree.
func (d *diff) addDeleted(ctx context.Context, old *node) error {
	now, err := d.h.root.Lstat(old.path)
	if errors.Is(err, fs.ErrPermission) {
		d.shut(path.Dir(old.path))
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if old.isDir() {
		if err == nil && now.IsDir() {
			return nil
		}
		return walkTracked(d.h.base.base, func(n *node) {
			d.out = append(d.out, changeOf(n, workspace.Deleted))
		}).walk(ctx, old.path)
	}
	gone := err != nil || (!now.Mode().IsRegular() && now.Mode()&fs.ModeSymlink == 0)
	if gone && trackable(old) {
		d.out = append(d.out, changeOf(old, workspace.Deleted))
	}
	return nil
}

// addCreated adds the content of a directory that the base does not have. Files made by a
// set-up are added only if they have changed.
func (d *diff) addCreated(ctx context.Context, dir string) error {
	if d.h.base.layer == nil {
		return d.walkAll(d.h.root, func(n *node) { d.fresh = append(d.fresh, *n) }).walk(ctx, dir)
	}
	return d.further(walkTracked(d.h.base.upper, d.create), d.addSpecial).walk(ctx, dir)
}

// entries reads one directory. A missing directory is empty.
func entries(ctx context.Context, root *os.Root, dir string, closed func(string)) (map[string]*node, error) {
	out := map[string]*node{}
	w := &walker{root: root, closed: closed, visit: func(n *node) (bool, error) {
		out[path.Base(n.path)] = n
		return false, nil
	}}
	return out, w.walk(ctx, dir)
}
