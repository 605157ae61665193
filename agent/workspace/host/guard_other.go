//go:build !linux

package host

import (
	"errors"

	"golang.org/x/sys/unix"
)

// niceness is what a priority stands for that the system returns.
func niceness(priority int) int { return priority }

// Hide does nothing: outside Linux a process looks into another one only with a
// right of its own.
func Hide() error { return nil }

// guard fails: no sandbox runs here.
func (*processes) guard() (release func(), err error) {
	return nil, errors.New("protect tool host: it is the first process of a sandbox only on Linux")
}

// confine and takeProcessors do nothing. That these limits are not kept is
// told with the bounds of the workspace.
func (*processes) confine(int) error { return nil }

func takeProcessors(int) error { return nil }

// inMemory reports false: macOS has no such file systems by default.
func inMemory(*unix.Statfs_t) bool { return false }
