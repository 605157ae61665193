package base

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// stamp is the metadata of a file when it was made. It is zero for a missing file.
type stamp struct {
	path        string
	mode, uid   uint32
	size, mtime int64
}

func (st stamp) perm() uint32 { return st.mode & 0o777 }
func (st stamp) isDir() bool  { return st.mode&syscall.S_IFMT == syscall.S_IFDIR }

func newStamp(info *syscall.Stat_t, path string) stamp {
	sec, nsec := modified(info)
	st := stamp{path: path, mode: uint32(info.Mode), uid: info.Uid, size: info.Size, mtime: sec*1e9 + nsec}
	if st.isDir() {
		st.size = 0
	}
	return st
}

func stampOf(name, path string) (stamp, error) {
	var info syscall.Stat_t
	if err := syscall.Lstat(name, &info); err != nil {
		return stamp{}, &os.PathError{Op: "lstat", Path: name, Err: err}
	}
	return newStamp(&info, path), nil
}

const head = 28 // bytes of a stamp before its path

func writeStamps(file string, list []stamp) error {
	var out []byte
	for _, st := range list {
		if st.path == "" {
			continue
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(len(st.path)))
		out = binary.LittleEndian.AppendUint32(out, st.mode)
		out = binary.LittleEndian.AppendUint32(out, st.uid)
		out = binary.LittleEndian.AppendUint64(out, uint64(st.size))
		out = binary.LittleEndian.AppendUint64(out, uint64(st.mtime))
		out = append(out, st.path...)
	}
	return os.WriteFile(file, out, 0o644)
}

func readStamps(file string) (list []stamp, err error) {
	data, err := os.ReadFile(file)
	list = make([]stamp, 0, len(data)/64)
	for err == nil && len(data) > 0 {
		if len(data) < head || uint64(len(data)) < head+uint64(binary.LittleEndian.Uint32(data)) {
			return nil, errDamaged
		}
		end := head + int(binary.LittleEndian.Uint32(data))
		list = append(list, stamp{
			path: string(data[head:end]), mode: binary.LittleEndian.Uint32(data[4:]), uid: binary.LittleEndian.Uint32(data[8:]),
			size: int64(binary.LittleEndian.Uint64(data[12:])), mtime: int64(binary.LittleEndian.Uint64(data[20:])),
		})
		data = data[end:]
	}
	return list, err
}

// maxChecked is the maximum number of files and directories checked at each use. Of
// larger bases only the directories are checked, where a created or deleted name changes
// the time. Their files are checked once a day and after each boot, which may have lost
// data.
const (
	maxChecked = 10_000
	checkEvery = 24 * time.Hour
)

// check returns an error unless a base is unchanged: the same names in each directory,
// and the same size and time of each file.
func (s *Store) check(ctx context.Context, key string) (about, error) {
	a, err := s.about(key)
	if err != nil {
		return a, err
	}
	at := s.at("bases/" + key)
	whole := a.Files+a.Dirs <= maxChecked || !s.checked(at+"/checked")
	name := "/dirs"
	if whole {
		name = "/list"
	}
	list, err := readStamps(at + name)
	if err != nil || len(list) == 0 {
		return a, errors.Join(errDamaged, err)
	}
	if err := same(ctx, at+"/tree/", list); err != nil { //control:base-is-checked
		return a, err
	}
	if whole {
		err = s.markChecked(at + "/checked")
	}
	return a, err
}

// checked reports whether the last full check of a base was recent, and after the last
// boot.
func (s *Store) checked(mark string) bool {
	info, err := os.Stat(mark)
	if err != nil || time.Since(info.ModTime()) > checkEvery {
		return false
	}
	boot, err := os.ReadFile(mark)
	return err == nil && string(boot) == s.boot
}

func (s *Store) markChecked(mark string) error { return os.WriteFile(mark, []byte(s.boot), 0o644) }

func same(ctx context.Context, tree string, list []stamp) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	const some = 512
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for {
				from := int(next.Add(some)) - some
				if from >= len(list) {
					return ctx.Err()
				}
				for _, want := range list[from:min(from+some, len(list))] {
					if got, err := stampOf(tree+want.path, want.path); err != nil || got != want {
						return errors.Join(fmt.Errorf("%s: %w", want.path, errDamaged), err)
					}
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
		})
	}
	return group.Wait()
}

// bootID identifies the current boot of the machine.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
}
