package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops/flock"
)

// Temporary directories get their final name once the file in them is locked.
const newPrefix, tempPrefix, aliveName = "handrail-new-", "handrail-run-", "alive"

// TempDir makes a temporary directory for this process, and removes those of processes
// that were killed. end removes it.
func TempDir() (dir string, end func() error, err error) {
	sweepTemp()
	fresh, err := os.MkdirTemp("", newPrefix)
	if err != nil {
		return "", nil, err
	}
	lock, ok, err := flock.Now(filepath.Join(fresh, aliveName), true)
	if err == nil && !ok {
		err = errors.New("another process has locked it")
	}
	if err == nil {
		dir = filepath.Join(filepath.Dir(fresh), tempPrefix+filepath.Base(fresh)[len(newPrefix):])
		if err = os.Rename(fresh, dir); err != nil {
			err = errors.Join(err, flock.Release(lock))
		}
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(fresh))
	}
	return dir, func() error { return errors.Join(removeTemp(dir), flock.Release(lock)) }, nil
}

// removeTemp removes a temporary directory, the locked file last: without it, the next start
// would not know a half removed directory.
func removeTemp(dir string) error {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if e.Name() != aliveName {
			err = errors.Join(err, workspace.RemoveTree(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil { //control:half-removed-is-swept
		return err
	}
	return os.RemoveAll(dir)
}

// sweepTemp removes the temporary directories of processes that were killed. Those of
// other users, and those in use, stay.
func sweepTemp() {
	list, _ := filepath.Glob(filepath.Join(os.TempDir(), "handrail-*")) // the pattern is valid
	for _, dir := range list {
		begin := strings.TrimRight(filepath.Base(dir), "0123456789")
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || begin != tempPrefix && begin != newPrefix {
			continue
		}
		if of, ok := info.Sys().(*syscall.Stat_t); !ok || int(of.Uid) != os.Geteuid() {
			continue
		}
		if begin == newPrefix && time.Since(info.ModTime()) < time.Minute { // it may not be locked yet
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, aliveName), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) && begin == newPrefix {
			_ = os.Remove(dir) // it stays unless it is empty
		}
		if err != nil {
			continue
		}
		if free, err := flock.Try(f, true); free && err == nil { //control:killed-run-is-swept
			_ = removeTemp(dir) // the next start tries again
		}
		_ = flock.Release(f)
	}
}
