// Package flock has locks on files that end with the process that holds them.
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Try takes a lock on an open file, for oneself or with others. It reports false when
// others have it.
func Try(f *os.File, alone bool) (bool, error) {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// Now takes the lock of a name, which is made where it is missing, unless others have it.
// [Release] gives it back.
func Now(name string, alone bool) (*os.File, bool, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	ok, err := Try(f, alone)
	if ok && !Named(f) { // whoever had it has removed it
		ok = false
	}
	if !ok {
		return nil, false, errors.Join(err, Release(f))
	}
	return f, true, nil
}

// Release gives a lock back and closes its file. Closing alone is not enough: a program
// that is being started has the open file too, until it runs, and the lock with it.
func Release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// Wait takes the lock of a name as soon as it can be had.
func Wait(ctx context.Context, name string, alone bool) (*os.File, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		f, ok, err := Now(name, alone)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", filepath.Base(name), err)
		}
		if ok {
			return f, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Named reports whether the file that was opened still has its name.
func Named(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(f.Name())
	return err == nil && os.SameFile(mine, there)
}
