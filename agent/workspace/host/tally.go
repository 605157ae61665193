package host

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// minFileCost is the minimum cost of a file in bytes: even an empty one takes an inode, a name,
// and time to delete.
const minFileCost = 4 << 10

type fileID struct{ dev, ino uint64 }

// device returns the number of a file's device. Its type differs between systems.
func device(st *unix.Stat_t) uint64 { return uint64(st.Dev) }

// cost returns the disk usage of a file by its blocks, so that holes are free.
func cost(st *unix.Stat_t) int64 { return max(st.Blocks*512, minFileCost) }

// tally adds up the disk usage of directories. A file with several names counts once.
// Other file systems are not entered.
type tally struct {
	//nolint:containedctx // it lives as long as one call
	ctx   context.Context
	seen  map[fileID]bool
	bytes int64
	count int
	blind bool // some directory could not be read
	doors *doors
}

func (t *tally) add(dir string) {
	defer t.doors.open(unix.AT_FDCWD, dir)()
	fd, err := unix.Open(dir, openDir, 0)
	if err != nil {
		t.blind = true
		return
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		fd = t.directory(fd, st, 0)
	}
	_ = unix.Close(fd)
}

const openDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// maxOpenDirs is the maximum number of directories kept open on the way down. Below them, ".."
// leads back, so that deep trees do not exhaust the descriptors.
const maxOpenDirs = 64

// directory scans an open directory. It returns its descriptor, perhaps a new one, or -1.
func (t *tally) directory(fd int, self unix.Stat_t, depth int) int {
	for _, name := range t.entries(fd, device(&self)) {
		if t.ctx.Err() != nil {
			break
		}
		if depth < maxOpenDirs {
			t.shallow(fd, name, depth)
			continue
		}
		sub, st, ok := t.enter(fd, name)
		if !ok {
			continue
		}
		_ = unix.Close(fd)
		sub = t.directory(sub, st, depth+1)
		var err error
		fd, err = unix.Openat(sub, "..", openDir, 0)
		_ = unix.Close(sub)
		var back unix.Stat_t
		if err != nil {
			t.blind = true
			return -1
		}
		if unix.Fstat(fd, &back) != nil || back.Ino != self.Ino || back.Dev != self.Dev {
			break // moved meanwhile
		}
	}
	return fd
}

// shallow scans a subdirectory, even one closed by its owner.
func (t *tally) shallow(fd int, name string, depth int) {
	defer t.doors.open(fd, name)()
	if sub, st, ok := t.enter(fd, name); ok {
		_ = unix.Close(t.directory(sub, st, depth+1))
	}
}

// entries counts the entries of a directory and returns the names of its subdirectories.
func (t *tally) entries(fd int, dev uint64) (dirs []string) {
	buf := make([]byte, 32<<10)
	var names []string
	for t.ctx.Err() == nil {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			var st unix.Stat_t
			t.count++
			err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
			t.blind = t.blind || errors.Is(err, unix.EACCES)
			if err != nil || device(&st) != dev {
				continue
			}
			isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
			if st.Nlink > 1 && !isDir {
				key := fileID{dev, st.Ino}
				if t.seen[key] {
					continue
				}
				t.seen[key] = true
			}
			t.bytes += cost(&st)
			if isDir {
				dirs = append(dirs, name)
			}
		}
	}
	return dirs
}

// enter opens a subdirectory.
func (t *tally) enter(fd int, name string) (sub int, st unix.Stat_t, ok bool) {
	sub, err := unix.Openat(fd, name, openDir, 0)
	t.blind = t.blind || errors.Is(err, unix.EACCES)
	if err != nil {
		return -1, st, false
	}
	if unix.Fstat(sub, &st) != nil {
		_ = unix.Close(sub)
		return -1, st, false
	}
	return sub, st, true
}
