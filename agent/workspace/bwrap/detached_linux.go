package bwrap

import (
	"syscall"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// detached starts a process in a session of its own and, for mounts, in a
// namespace of them, which takes one of users where this user is not root.
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
