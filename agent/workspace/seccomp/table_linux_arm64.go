package seccomp

import "golang.org/x/sys/unix"

const (
	arch     = unix.AUDIT_ARCH_AARCH64
	lastCall = unix.SYS_FUTEX_WAITV
)

// deniedHere are further calls refused on this architecture.
var deniedHere = []uint32{unix.SYS_KEXEC_FILE_LOAD}
