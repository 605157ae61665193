package workspacetest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// notProbed are calls that would end, stop or change the calling process, or block
// forever.
var notProbed = []uintptr{
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGSUSPEND, unix.SYS_CLONE, unix.SYS_CLONE3,
	unix.SYS_SECCOMP, unix.SYS_SETSID, unix.SYS_SYNC, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ, unix.SYS_MUNMAP,
	unix.SYS_BRK, unix.SYS_PERSONALITY,
}

// lastProbed is the newest call that is tried.
const lastProbed = 480

// probe makes every system call with invalid arguments, and the calls that a filter
// judges by their arguments with various ones. It prints each result: "refused",
// "unknown", or "passed" to the kernel.
func probe() {
	runtime.LockOSThread()
	const bad = ^uintptr(0)
	for nr := uintptr(0); nr <= lastProbed; nr++ {
		if !slices.Contains(notProbed, nr) && !slices.Contains(notProbedHere, nr) {
			_, _, errno := unix.RawSyscall6(nr, bad, bad, bad, bad, bad, bad)
			fmt.Fprintf(os.Stdout, "call %d: %s\n", nr, answer(errno))
		}
	}
	call := func(name string, nr uintptr, args ...uintptr) {
		args = append(args, make([]uintptr, 6)...)
		_, _, errno := unix.RawSyscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
		fmt.Fprintf(os.Stdout, "%s: %s\n", name, answer(errno))
	}
	for name, flag := range map[string]uintptr{
		"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "net": unix.CLONE_NEWNET, "pid": unix.CLONE_NEWPID,
		"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP,
	} {
		call("unshare "+name, unix.SYS_UNSHARE, flag)
		// CLONE_SIGHAND alone is invalid, so an allowed call creates nothing.
		call("clone "+name, unix.SYS_CLONE, flag|unix.CLONE_SIGHAND)
	}
	call("clone without namespaces", unix.SYS_CLONE, unix.CLONE_SIGHAND)
	call("clone3", unix.SYS_CLONE3, bad, 64)
	for name, persona := range map[string]uintptr{"Linux": 0, "asking": 0xffffffff, "without random addresses": 0x40000, "SVR4": 1} {
		call("personality "+name, unix.SYS_PERSONALITY, persona)
	}
	call("personality back", unix.SYS_PERSONALITY, 0)
	for name, family := range map[string]uintptr{
		"unix": unix.AF_UNIX, "inet": unix.AF_INET, "inet6": unix.AF_INET6, "netlink": unix.AF_NETLINK, "vsock": unix.AF_VSOCK,
		"alg": unix.AF_ALG, "packet": unix.AF_PACKET, "can": unix.AF_CAN, "key": unix.AF_KEY, "tipc": unix.AF_TIPC, "bluetooth": unix.AF_BLUETOOTH,
	} {
		call("socket "+name, unix.SYS_SOCKET, family, unix.SOCK_RAW)
	}
	call("ioctl that types", unix.SYS_IOCTL, bad, unix.TIOCSTI)
	call("ioctl that pastes", unix.SYS_IOCTL, bad, unix.TIOCLINUX)
	call("ioctl of another kind", unix.SYS_IOCTL, bad, unix.TCGETS)
	call("fallocate", unix.SYS_FALLOCATE, bad, 0, 0, 1)
	call("prctl", unix.SYS_PRCTL, bad)
	call("ptrace", unix.SYS_PTRACE, 99, 0)
	otherForms()
}

func answer(errno unix.Errno) string {
	switch {
	case errors.Is(errno, unix.EPERM):
		return "refused"
	case errors.Is(errno, unix.ENOSYS):
		return "unknown"
	}
	return "passed"
}
