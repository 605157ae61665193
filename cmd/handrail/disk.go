package main

import (
	"errors"
	"fmt"
	"math"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/bot/store"
)

// littleRoom tells which disk is full: with more bytes than this left on the
// server's disk, it is that of a workspace.
const littleRoom = 16 << 20

// roomLeft returns how many bytes can still be written below dir. It returns the
// largest number when the system does not say.
func roomLeft(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return math.MaxInt64
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// noRoom is a write that found the server's own disk full. It counts as
// [store.ErrFull], whatever part of the server wrote.
type noRoom struct {
	dir string
	err error
}

// Error implements error.
func (n *noRoom) Error() string {
	return fmt.Sprintf("no space left below %s: free disk space, the work then goes on by itself: %v", n.dir, n.err)
}

// Unwrap returns the cause and [store.ErrFull].
func (n *noRoom) Unwrap() []error { return []error{n.err, store.ErrFull} }

// fullDisk adds to an error what to do when it says that a disk is full.
func fullDisk(err error) error {
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, store.ErrFull) {
		return err
	}
	return fmt.Errorf("%w: free disk space, then try again; what was done so far is kept", err)
}
