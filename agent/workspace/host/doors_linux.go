package host

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// passable are the mode bits that the owner of a directory needs to read its entries.
const passable = unix.S_IRUSR | unix.S_IXUSR

// doors opens directories that were closed by their owner, the user of this process.
type doors struct{ dirs, views []string }

// open makes a directory passable. The returned function restores its mode.
func (d *doors) open(at int, name string) (shut func()) {
	shut = func() {}
	var st unix.Stat_t
	if d == nil || unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || !d.closed(&st) {
		return shut
	}
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return shut
	}
	if unix.Fstat(fd, &st) != nil || !d.closed(&st) || !d.chmod(fd, st.Mode|passable) {
		_ = unix.Close(fd)
		return shut
	}
	return func() {
		d.chmod(fd, st.Mode)
		_ = unix.Close(fd)
	}
}

func (*doors) closed(st *unix.Stat_t) bool {
	return st.Mode&passable != passable && int(st.Uid) == os.Geteuid() && os.Geteuid() != 0
}

// chmod sets the mode of an open directory. If the upper layer of an overlay is read-only
// here, it sets the mode through the overlay.
func (d *doors) chmod(fd int, mode uint32) bool {
	link := "/proc/self/fd/" + strconv.Itoa(fd)
	err := unix.Chmod(link, mode&0o7777)
	if err == nil {
		return true
	}
	name, err2 := os.Readlink(link)
	if !errors.Is(err, unix.EROFS) || err2 != nil {
		return false
	}
	for _, dir := range d.dirs {
		rel, ok := strings.CutPrefix(name+"/", dir+"/")
		for _, view := range d.views {
			if ok && unix.Chmod(filepath.Join(view, rel), mode&0o7777) == nil {
				return true
			}
		}
	}
	return false
}
