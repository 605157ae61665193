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
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (name with anything in it) state ppid pgrp session …
		_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		f := strings.Fields(rest)
		if len(f) < 4 {
			continue
		}
		parent, _ := strconv.Atoi(f[1])
		session, _ := strconv.Atoi(f[3])
		out = append(out, procInfo{pid: pid, parent: parent, session: session, state: f[0][0]})
	}
	return out
}
