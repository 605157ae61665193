package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// node is one entry of a tree as lstat sees it.
type node struct {
	path string
	mode fs.FileMode
	dir  *dirHandle // the directory it is in; open during visit, and longer after retain
	stat unix.Stat_t
}

func (n *node) isDir() bool { return n.mode.IsDir() }

// walker walks a tree in path order without following symlinks. visit is called for each
// entry and reports whether to enter a directory. enter, if set, gets the names in each
// directory first. closed, if set, is called for directories that cannot be read.
type walker struct {
	root  *os.Root
	enter func(dir string, names []string)
	visit func(n *node) (into bool, err error)

	closed func(dir string)
}

// dirHandle is an open directory with a reference count. The last release closes it.
type dirHandle struct {
	f    *os.File
	refs atomic.Int32
}

func (d *dirHandle) retain() *dirHandle {
	d.refs.Add(1)
	return d
}

func (d *dirHandle) release() {
	if d.refs.Add(-1) == 0 {
		d.f.Close()
	}
}

// open opens a regular file in the directory, and nothing else.
func (d *dirHandle) open(name string) (fd int, size int64, err error) {
	fd, err = unix.Openat(int(d.f.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, 0, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = workspace.ErrNotFile
	}
	if err != nil {
		return -1, 0, errors.Join(err, unix.Close(fd))
	}
	return fd, st.Size, nil
}

func (w *walker) walk(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := w.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		if w.closed != nil && errors.Is(err, fs.ErrPermission) {
			w.closed(dir)
			return nil
		}
		if dir != "." && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
			errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)) {
			return nil // removed, replaced, or not accessible
		}
		return rootError(err)
	}
	h := &dirHandle{f: f}
	h.refs.Store(1)
	defer h.release()
	nodes, err := w.readDir(f, dir)
	if err != nil {
		return err
	}
	for i := range nodes {
		nodes[i].dir = h
		into, err := w.visit(&nodes[i])
		if err != nil {
			return err
		}
		if into && nodes[i].isDir() {
			if err := w.walk(ctx, nodes[i].path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walker) readDir(f *os.File, dir string) ([]node, error) {
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	if w.enter != nil {
		w.enter(dir, names)
	}
	nodes := make([]node, 0, len(names))
	fd := int(f.Fd())
	for _, name := range names {
		n := node{path: path.Join(dir, name)}
		if err := unix.Fstatat(fd, name, &n.stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			if w.closed != nil && errors.Is(err, fs.ErrPermission) {
				w.closed(dir)
				return nil, nil
			}
			continue // removed meanwhile
		}
		n.mode = modeOf(uint32(n.stat.Mode))
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
		return mode
	case unix.S_IFDIR:
		return mode | fs.ModeDir
	case unix.S_IFLNK:
		return mode | fs.ModeSymlink
	case unix.S_IFIFO:
		return mode | fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return mode | fs.ModeSocket
	case unix.S_IFCHR:
		return mode | fs.ModeDevice | fs.ModeCharDevice
	}
	return mode | fs.ModeDevice
}
