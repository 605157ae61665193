//go:build !linux

package host

import (
	"errors"

	"golang.org/x/sys/unix"
)

// niceness converts a priority returned by the system.
func niceness(priority int) int { return priority }

// Hide does nothing: outside Linux, reading another process needs a special permission.
func Hide() error { return nil }

// guard fails: no sandbox runs here.
func (*processes) guard() (release func(), err error) {
	return nil, errors.New("protect tool host: it is the first process of a sandbox only on Linux")
}

// confine and takeProcessors do nothing. The workspace's bounds report these limits as
// missing.
func (*processes) confine(int) error { return nil }

func takeProcessors(int) error { return nil }

// inMemory reports false: macOS has no such file systems by default.
func inMemory(*unix.Statfs_t) bool { return false }
