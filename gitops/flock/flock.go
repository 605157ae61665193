// Package flock provides file locks that end with their process.
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

// Try takes a lock on an open file, exclusive if alone, otherwise shared. It reports
// false if the lock is held.
func Try(f *os.File, alone bool) (bool, error) {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	err := uninterrupted(func() error { return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// uninterrupted repeats a system call that a signal interrupted.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) { //control:interrupted-is-not-held
			return err
		}
	}
}

// Now takes the lock on the file name, which it creates if missing. It reports false if
// the lock is held. The caller must call [Release].
func Now(name string, alone bool) (*os.File, bool, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	ok, err := Try(f, alone)
	if ok && !HasName(f) { // the previous holder removed the file
		ok = false
	}
	if !ok {
		return nil, false, errors.Join(err, Release(f))
	}
	return f, true, nil
}

// Release unlocks and closes the file. Closing alone is not enough: a child process that
// is being started shares the open file, and the lock, until its exec.
func Release(f *os.File) error {
	return errors.Join(uninterrupted(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }), f.Close())
}

// Wait takes the lock on the file name as soon as it is free. See [Now].
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

// HasName reports whether an open file still has its name.
func HasName(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(f.Name())
	return err == nil && os.SameFile(mine, there)
}
