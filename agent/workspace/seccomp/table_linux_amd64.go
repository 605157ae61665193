package seccomp

import "golang.org/x/sys/unix"

const (
	arch     = unix.AUDIT_ARCH_X86_64
	lastCall = unix.SYS_FUTEX_WAITV
)

// deniedHere are further calls refused on this architecture.
var deniedHere = []uint32{
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_IOPERM, unix.SYS_IOPL,
	unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL, unix.SYS_KEXEC_FILE_LOAD,
}
