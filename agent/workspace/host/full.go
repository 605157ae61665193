package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// place is a directory on a file system of limited size.
type place struct {
	at       string
	inMemory bool
	size     int64
	free     int64
	files    uint64 // maximum number of files; 0 if unknown
	spare    uint64 // number of files still available
}

// minRoom is the free space in bytes below which a file system counts as full.
const minRoom = 64 << 10

func (p place) full() bool { return p.free < minRoom || p.files > 0 && p.spare == 0 }

// String explains that the place is full, and suggests a remedy.
func (p place) String() string {
	what := bytesOf(p.size)
	if p.free >= minRoom {
		what = fmt.Sprintf("%d files", p.files)
	}
	more := "The operator of this server can give that disk more room"
	if p.inMemory {
		more = "The operator of this server can make it larger with workspace.memory, of which it is a part"
	}
	return fmt.Sprintf(
		"%s is full: it holds %s. Delete unneeded files there, or write to another directory. %s",
		p.at,
		what,
		more,
	)
}

func bytesOf(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// places returns the directories to which commands write, one for each file system.
func (h *host) places() (out []place) {
	var dirs []string
	if h.cfg.Init {
		for _, m := range writableMounts() {
			dirs = append(dirs, m.at)
		}
	} else {
		dirs = append([]string{h.cfg.Root}, h.cfg.Dirs...)
		dirs = append(dirs, "/tmp", "/var/tmp")
	}
	seen := map[unix.Fsid]bool{}
	for _, dir := range dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil || seen[st.Fsid] || st.Blocks == 0 {
			continue
		}
		seen[st.Fsid] = true
		out = append(
			out,
			place{dir, inMemory(&st), int64(st.Blocks) * block(&st), int64(st.Bavail) * block(&st), st.Files, st.Ffree},
		)
	}
	return out
}

// block returns the block size. The type of the field differs between systems.
func block(st *unix.Statfs_t) int64 { return int64(st.Bsize) }

// noRoom are the system's messages and error names for a full disk.
var noRoom = []string{
	"No space left on device", "no space left on device", "ENOSPC", "Disk quota exceeded", "disk quota exceeded",
	"EDQUOT",
}

// fullPlaces returns a note on full places after a command. It mentions each when it
// becomes full, and again if a failed command complains.
func (h *host) fullPlaces(res workspace.CommandResult) string {
	complains := res.Exit != 0 &&
		slices.ContainsFunc(noRoom, func(w string) bool { return strings.Contains(res.Output, w) })
	var say, room []string
	was := h.wasFull
	h.wasFull = nil
	for _, p := range h.places() {
		if !p.full() {
			room = append(room, fmt.Sprintf("%s has %s of %s left", p.at, bytesOf(p.free), bytesOf(p.size)))
			continue
		}
		h.wasFull = append(h.wasFull, p.at)
		if complains || !slices.Contains(was, p.at) { //control:full-place
			say = append(say, p.String())
		}
	}
	if complains && len(h.wasFull) == 0 {
		return "\n[The output speaks of a full disk. What is left now: " + strings.Join(room, ", ") + ".]\n"
	}
	if len(say) == 0 {
		return ""
	}
	return "\n[" + strings.Join(say, ". ") + ".]\n"
}

// explainFull adds the affected disk to an error of a full disk. dir is relative to the root.
func (h *host) explainFull(err error, dir string) error {
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return err
	}
	at := filepath.Join(h.cfg.Root, dir)
	for at != h.cfg.Root {
		if _, missing := os.Stat(at); missing == nil {
			break
		}
		at = filepath.Dir(at)
	}
	var st unix.Statfs_t
	if unix.Statfs(at, &st) != nil {
		return err
	}
	return fmt.Errorf(
		"%w: the disk of %s, which holds %s, has %s left: delete unneeded files there; the operator of this server can give it more room",
		err,
		at,
		bytesOf(int64(st.Blocks)*block(&st)),
		bytesOf(int64(st.Bavail)*block(&st)),
	)
}
