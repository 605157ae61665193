package main

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/bot/store"
)

// minServerSpace tells which disk is full: if the server's disk has more free bytes than
// this, it is the disk of a workspace.
const minServerSpace = 16 << 20

// bytesLeft returns the number of free bytes below dir, or [math.MaxInt64] if the system
// does not say.
func bytesLeft(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return math.MaxInt64
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// diskFullError is a failed write to the server's own full disk. It matches [store.ErrFull], for
// every part of the server.
type diskFullError struct {
	dir string
	err error
}

// Error implements error.
func (n *diskFullError) Error() string {
	return fmt.Sprintf("no space left below %s: free disk space, the work then goes on by itself: %v", n.dir, n.err)
}

// Unwrap returns the cause and [store.ErrFull].
func (n *diskFullError) Unwrap() []error { return []error{n.err, store.ErrFull} }

// fullDisk adds a remedy to an error that reports a full disk, unless it has one.
func fullDisk(err error) error {
	if errors.Is(err, store.ErrFull) {
		return err
	}
	return workspace.FullDisk(err, "the work so far is kept, and can go on then")
}
