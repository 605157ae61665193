package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// namespaces are the clone flags that create namespaces. In a user namespace of its own a
// process is root, and can reach much more of the kernel.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// wallRules refuse the calls that no code in a workspace may make.
func wallRules() []rule {
	var rules []rule
	for _, nr := range slices.Concat(denied, deniedHere) {
		rules = append(rules, always(nr, unix.EPERM))
	}
	return append(
		rules,
		// clone3 has its flags in memory, which no filter can read. Programs fall back to clone
		// if it is missing.
		always(unix.SYS_CLONE3, unix.ENOSYS),
		flagged(unix.SYS_CLONE, namespaces), //control:no-namespaces
		rule{
			call:  unix.SYS_PERSONALITY,
			errno: unix.EPERM,
			only:  []uint32{0, 8, 0x20000, 0x20008, 0xffffffff},
		}, // only Linux, and queries
		rule{
			call:   unix.SYS_IOCTL,
			errno:  unix.EPERM,
			arg:    1,
			values: []uint32{unix.TIOCSTI, unix.TIOCLINUX},
		}, // terminal input on behalf of the user
		rule{
			call:  unix.SYS_SOCKET,
			errno: unix.EAFNOSUPPORT,
			only:  []uint32{unix.AF_UNSPEC, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK},
		},
	)
}

// commandRules keep commands from taking disk space faster than it can be measured.
func commandRules() []rule {
	return []rule{
		always(unix.SYS_FALLOCATE, unix.EOPNOTSUPP), //control:no-reserved-room
		{call: unix.SYS_IOCTL, errno: unix.EOPNOTSUPP, arg: 1, values: []uint32{resvsp, resvsp64, zeroRange}},
	}
}

// The ioctl forms of fallocate (linux/falloc.h).
const (
	resvsp    = 0x40305828
	resvsp64  = 0x4030582a
	zeroRange = 0x40305839
)

// strictRules are for commands without a control group for processors and memory.
func strictRules() []rule {
	return []rule{
		always(unix.SYS_SCHED_SETAFFINITY, unix.EPERM),
		always(unix.SYS_MEMFD_CREATE, unix.ENOSYS),
	}
}

// denied are the calls refused on every architecture.
var denied = []uint32{
	// Mounts and namespaces.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_OPEN_TREE,
	unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_QUOTACTL,
	unix.SYS_QUOTACTL_FD,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_CHROOT, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	// The kernel and its clock.
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SETTIMEOFDAY,
	unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	// Frequent sources of kernel vulnerabilities.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_KCMP, unix.SYS_NFSSERVCTL,
	// Memory of other processes, and memory placement.
	unix.SYS_GET_MEMPOLICY, unix.SYS_SET_MEMPOLICY, unix.SYS_MBIND, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
}
