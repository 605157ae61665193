package host

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

func hasMark(pid int, mark string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte(markEnv+"="+mark))
}

func listProcesses() []procInfo {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var out []procInfo
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := process(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// process returns one process; the second result is false if there is none.
func process(pid int) (p procInfo, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false
	}
	// pid (any name) state ppid pgrp session …; the start time is field 20 after the name
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	f := strings.Fields(rest)
	if len(f) < 20 {
		return p, false
	}
	p = procInfo{pid: pid, state: f[0][0]}
	p.parent, _ = strconv.Atoi(f[1])
	p.session, _ = strconv.Atoi(f[3])
	p.started, _ = strconv.ParseUint(f[19], 10, 64)
	return p, true
}

// children returns the children of a process; a process that has ended has none. The
// second result is false if the kernel does not list children.
func children(pid int) (pids []int, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	d, err := os.Open(dir)
	if err != nil {
		return nil, true
	}
	defer d.Close()
	threads, err := d.Readdirnames(-1)
	if err != nil {
		return nil, true
	}
	for _, thread := range threads {
		text, err := os.ReadFile(dir + "/" + thread + "/children")
		if err != nil {
			if _, gone := os.Stat(dir + "/" + thread); gone == nil {
				return nil, false
			}
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids, true
}

// residentOf returns the resident memory of a process, in bytes.
func residentOf(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(f[1], 10, 64) // 0 if it is no number
	return pages * int64(os.Getpagesize())
}
