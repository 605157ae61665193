package main

import (
	"errors"
	"fmt"
	"math"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/bot/store"
)

// littleRoom tells which disk is full: if the server's disk has more free bytes than
// this, it is the disk of a workspace.
const littleRoom = 16 << 20

// roomLeft returns the number of free bytes below dir, or [math.MaxInt64] if the system
// does not say.
func roomLeft(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return math.MaxInt64
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// noRoom is a failed write to the server's own full disk. It matches [store.ErrFull], for
// every part of the server.
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

// fullDisk adds a remedy to an error that reports a full disk.
func fullDisk(err error) error {
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, store.ErrFull) {
		return err
	}
	return fmt.Errorf("%w: free disk space, then try again; what was done so far is kept", err)
}
