// Package seccomp has the system call filters that bubblewrap and the tool host load.
// They refuse calls that code in a workspace never needs, or that would evade its limits.
package seccomp

import "errors"

// ErrUnknown means that the system calls of this architecture are not known.
var ErrUnknown = errors.New("its system calls are not known")
