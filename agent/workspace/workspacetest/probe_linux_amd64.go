package workspacetest

import (
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

var notProbedHere = []uintptr{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_PAUSE, unix.SYS_ALARM, unix.SYS_RESTART_SYSCALL, unix.SYS_ARCH_PRCTL, 335, 336}

// int80 asks as a program of 32 bits does.
func int80(nr uint32) int32

// otherForms asks for a call in forms that a filter for this machine does not
// understand: as x32 and as i386.
func otherForms() {
	_, _, errno := unix.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0)
	fmt.Fprintf(os.Stdout, "x32: %s\n", answer(errno))
	fmt.Fprintf(os.Stdout, "i386: %s\n", asI386())
}

// asI386 returns the answer to a program of 32 bits. A kernel that runs none ends
// what asks so.
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
