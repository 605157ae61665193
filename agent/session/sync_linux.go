package session

import (
	"errors"
	"os"
	"syscall"
)

// syncData waits until the content of a file is on the disk; its times may come later.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
