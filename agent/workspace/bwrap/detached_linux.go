package bwrap

import (
	"syscall"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// detached starts a process in a new session and, if mounts is set, in a new mount
// namespace. Without root, that takes a user namespace as well.
func detached(mounts, root bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !mounts {
		return attr
	}
	attr.Cloneflags = syscall.CLONE_NEWNS
	if !root {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		uid, gid := workspace.Owner()
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	return attr
}
