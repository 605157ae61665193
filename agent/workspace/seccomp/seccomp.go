// Package seccomp has the filters of system calls that bubblewrap and the tool
// host load: what code in a workspace never needs, and what would get around
// its limits, is refused before the kernel does anything.
package seccomp

import "errors"

// ErrUnknown means that the calls of this kind of machine are not known.
var ErrUnknown = errors.New("its system calls are not known")
