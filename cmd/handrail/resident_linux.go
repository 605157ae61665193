package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
)

// releaseStart gives back the memory that only the start needed: free heap, and pages of
// the program's file. Start-up runs through all packages once, which maps most of the
// file; the kernel maps a page again when it is used. Without /proc the pages stay.
func releaseStart() {
	debug.FreeOSMemory()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	var start, end uintptr
	for in := bufio.NewScanner(maps); in.Scan(); {
		line := in.Text()
		var from, to uintptr
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); n == 3 {
			if start, end = 0, 0; mode[1] == '-' && strings.HasSuffix(line, " "+exe) {
				start, end = from, to
			}
			continue
		}
		// A page that differs from the file, such as one with a debugger's breakpoint, counts
		// as anonymous: then the mapping cannot be read again.
		if name, value, _ := strings.Cut(line, ":"); name == "Anonymous" && strings.TrimSpace(value) == "0 kB" && end > start {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, end-start, syscall.MADV_DONTNEED) // on failure they stay
		}
	}
}
