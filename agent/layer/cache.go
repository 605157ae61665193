// A set-up begins with the package manager caches of the previous one. Unchanged files
// are shared by hard links, so a cache only takes the space of its new files.
//
// Shared files are never modified in place. The workspace of a set-up is an overlay over,
// or a copy of, the directory made by [Begin], as sessions are over a layer.

package layer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Want selects the caches for a new set-up: the directories Names of Older, the caches of
// a layer. If they are larger than Most bytes, the set-up begins without caches, so that
// they do not grow forever.
type Want struct {
	Older     string
	Names     []string
	SizeLimit int64
}

// Begin makes a layer in the directory dir that contains only caches. It returns dir, or
// "" if there are no caches or they cannot be shared: the previous set-up may have left
// anything, such as paths longer than the system allows.
func Begin(ctx context.Context, dir string, w Want) (string, error) {
	begun, err := begin(ctx, dir, w)
	if err != nil && ctx.Err() == nil { //control:caches-stop-nothing
		return "", workspace.RemoveTree(dir)
	}
	return begun, err
}

func begin(ctx context.Context, dir string, w Want) (string, error) {
	to := filepath.Join(dir, workspace.LayerCache)
	if err := errors.Join(makeDir(dir), makeDir(filepath.Join(dir, workspace.LayerTree)), makeDir(to)); err != nil {
		return "", fmt.Errorf("begin caches: %w", err)
	}
	var size int64
	for _, name := range w.Names {
		n, err := share(ctx, w.Older, to, name)
		if err != nil {
			return "", fmt.Errorf("begin caches: %w", err)
		}
		size += n
	}
	list, err := os.ReadDir(to)
	if err != nil {
		return "", fmt.Errorf("begin caches: %w", err)
	}
	if len(list) == 0 || size > w.SizeLimit { //control:caches-do-not-grow
		return "", workspace.RemoveTree(dir)
	}
	return dir, nil
}

func makeDir(dir string) error {
	uid, gid := workspace.Owner()
	return errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, uid, gid))
}

// share fills the directory to/name with links to the files in older/name and returns
// their total size in bytes. A missing directory counts as empty, and so does one behind
// a symlink, which might lead anywhere.
func share(ctx context.Context, older, to, name string) (size int64, err error) {
	parts := strings.Split(name, "/")
	for i := range parts {
		if info, err := os.Lstat(filepath.Join(older, path.Join(parts[:i+1]...))); err != nil || !info.IsDir() { //control:caches-are-no-links
			return 0, nil //nolint:nilerr // it is not there
		}
	}
	if err := makeParents(to, path.Dir(name)); err != nil {
		return 0, err
	}
	return shareTree(ctx, filepath.Join(older, name), filepath.Join(to, name))
}

// shareTree fills the new directory to with links to the files in from.
func shareTree(ctx context.Context, from, to string) (size int64, err error) {
	err = filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		there := filepath.Join(to, at[len(from):])
		switch {
		case d.IsDir():
			return makeDir(there)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(at)
			if err != nil {
				return err
			}
			return os.Symlink(target, there)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		return link(at, there, info)
	})
	return size, err
}

// link makes a hard link, or a copy if that fails, for example at the limit of links.
func link(from, to string, info fs.FileInfo) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	uid, gid := workspace.Owner()
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chown(uid, gid), out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// End completes the caches that the workspace of a set-up left in its state directory,
// and returns their location. begun is the result of [Begin]; unchanged files stay
// shared. Both directories are below dir and no longer written to.
func End(dir, begun, state string) (string, error) {
	kept := filepath.Join(state, workspace.KeptCache)
	if begun == "" {
		return kept, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("end caches: %w", err)
	}
	defer func() { _ = root.Close() }()
	whole := filepath.Join(begun, workspace.LayerCache)
	below, err := filepath.Rel(dir, whole)
	above, wrong := filepath.Rel(dir, kept)
	if err = errors.Join(err, wrong); err != nil {
		return "", fmt.Errorf("end caches: %w", err)
	}
	e := cacheMerge{root: root, below: filepath.ToSlash(below), above: filepath.ToSlash(above)}
	if _, err := os.Lstat(filepath.Join(state, workspace.KeptUpper)); err != nil { // the workspace was a copy
		return kept, wrapEnd(e.share("."))
	}
	return whole, wrapEnd(e.put("."))
}

func wrapEnd(err error) error {
	if err != nil {
		return fmt.Errorf("end caches: %w", err)
	}
	return nil
}

// cacheMerge merges the initial caches of a set-up with its own. Both are in root.
type cacheMerge struct {
	root         *os.Root
	below, above string
}

// put applies a directory of an overlay's upper layer to the lower one.
func (e cacheMerge) put(dir string) error {
	list, err := e.list(dir)
	if err != nil {
		return err
	}
	for _, d := range list {
		name := path.Join(dir, d.Name())
		from, to := path.Join(e.above, name), path.Join(e.below, name)
		if d.IsDir() {
			there, err := e.root.Lstat(to)
			alone := true
			if err == nil && there.IsDir() {
				if alone, err = e.alone(from); err != nil {
					return err
				}
			}
			if !alone {
				if err := e.put(name); err != nil {
					return err
				}
				continue
			}
		}
		if err := e.root.RemoveAll(to); err != nil {
			return err
		}
		if d.Type()&fs.ModeCharDevice != 0 { // a whiteout: the file was deleted
			continue
		}
		if err := e.root.Rename(from, to); err != nil {
			return err
		}
	}
	return nil
}

// list lists a directory of the upper layer, regardless of its permissions.
func (e cacheMerge) list(dir string) ([]fs.DirEntry, error) {
	at := path.Join(e.above, dir)
	if err := e.root.Chmod(at, 0o755); err != nil {
		return nil, err
	}
	return fs.ReadDir(e.root.FS(), at)
}

// alone reports whether a directory of an upper layer hides the lower one completely.
func (e cacheMerge) alone(dir string) (bool, error) {
	if err := e.root.Chmod(dir, 0o755); err != nil {
		return false, err
	}
	f, err := e.root.Open(dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	return opaque(f), nil
}

// share replaces unchanged copies by the files that they were copied from.
func (e cacheMerge) share(dir string) error {
	list, err := e.list(dir)
	if err != nil {
		return err
	}
	for _, d := range list {
		name := path.Join(dir, d.Name())
		switch {
		case d.IsDir():
			err = e.share(name)
		case d.Type().IsRegular():
			var same bool
			if same, err = e.same(name); same && err == nil {
				err = e.root.Rename(path.Join(e.below, name), path.Join(e.above, name))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// same reports whether a file is unchanged.
func (e cacheMerge) same(name string) (bool, error) {
	was, err := e.root.Lstat(path.Join(e.below, name))
	if err != nil || !was.Mode().IsRegular() {
		return false, nil //nolint:nilerr // it was not there
	}
	is, err := e.root.Lstat(path.Join(e.above, name))
	if err != nil || is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime()) || (is.Mode()^was.Mode())&0o100 != 0 {
		return false, err
	}
	a, err := e.root.Open(path.Join(e.below, name))
	if err != nil {
		return false, nil //nolint:nilerr // it stays a copy
	}
	defer func() { _ = a.Close() }()
	b, err := e.root.Open(path.Join(e.above, name))
	if err != nil {
		return false, nil //nolint:nilerr // it stays a copy
	}
	defer func() { _ = b.Close() }()
	return equal(a, b) //control:shared-is-the-same
}

// equal reports whether two files have the same bytes.
func equal(a, b io.Reader) (bool, error) {
	one, two := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(a, one)
		m, wrong := io.ReadFull(b, two)
		if !bytes.Equal(one[:n], two[:m]) {
			return false, nil
		}
		switch {
		case err == nil && wrong == nil:
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return true, nil
		default:
			return false, errors.Join(err, wrong)
		}
	}
}
