//go:build !linux

package bwrap

import "syscall"

// detached starts a process in a new session. Only Linux has bubblewrap; Check reports
// that earlier.
func detached(_, _ bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
