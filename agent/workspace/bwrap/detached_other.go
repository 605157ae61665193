//go:build !linux

package bwrap

import "syscall"

// detached starts a process in a session of its own. Only Linux has bubblewrap,
// which the check of the engine says before.
func detached(_, _ bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
