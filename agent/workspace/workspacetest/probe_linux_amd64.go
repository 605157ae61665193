package workspacetest

import (
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

var notProbedHere = []uintptr{
	unix.SYS_FORK,
	unix.SYS_VFORK,
	unix.SYS_PAUSE,
	unix.SYS_ALARM,
	unix.SYS_RESTART_SYSCALL,
	unix.SYS_ARCH_PRCTL,
	335,
	336,
}

// int80 makes a system call as a 32-bit program does.
func int80(nr uint32) int32

// otherForms makes a call in forms that a filter for this machine does not know: x32 and
// i386.
func otherForms() {
	_, _, errno := unix.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0)
	fmt.Fprintf(os.Stdout, "x32: %s\n", answer(errno))
	fmt.Fprintf(os.Stdout, "i386: %s\n", asI386())
}

// asI386 returns the result of a 32-bit call, or "fault" if the kernel does not support
// them.
func asI386() (said string) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			said = "fault"
		}
	}()
	const getpid = 20
	return answer(unix.Errno(max(0, -int80(getpid))))
}
