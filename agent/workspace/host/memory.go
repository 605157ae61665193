package host

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// threadCost is the size of the kernel stack of one thread.
const threadCost = 16 << 10

// usage is the total usage of a set of processes.
type usage struct {
	memory  int64
	threads int64
	pids    []int
	counted map[int]int64 // by PID: memory in pages that can be shared
}

// measure adds up figures of the kernel that are readable for every user, so that no
// process can hide.
func measure(pids []int) usage {
	u := usage{pids: pids, counted: make(map[int]int64, len(pids))}
	for _, pid := range pids {
		f := fields("/proc/"+strconv.Itoa(pid)+"/status", "RssAnon", "RssShmem", "VmSwap", "VmPTE", "Threads")
		u.counted[pid] = (f["RssAnon"] + f["RssShmem"] + f["VmSwap"]) << 10
		u.memory += u.counted[pid] + f["VmPTE"]<<10 + f["Threads"]*threadCost
		u.threads += f["Threads"]
	}
	return u
}

// share corrects the sum for shared pages, if the kernel reports them.
func (u *usage) share() {
	for _, pid := range u.pids {
		f := fields("/proc/"+strconv.Itoa(pid)+"/smaps_rollup", "Pss_Anon", "Pss_Shmem", "SwapPss")
		if len(f) == 3 {
			u.memory += (f["Pss_Anon"]+f["Pss_Shmem"]+f["SwapPss"])<<10 - u.counted[pid]
		}
	}
}

// fields reads numbers from a file with lines "name: number unit".
func fields(file string, names ...string) map[string]int64 {
	out := map[string]int64{}
	data, err := os.ReadFile(file)
	if err != nil {
		return out // the process has ended
	}
	for line := range bytes.Lines(data) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		for _, want := range names {
			if string(name) == want {
				number, _, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
				out[want], _ = strconv.ParseInt(number, 10, 64)
			}
		}
	}
	return out
}

// inodeCost is the memory taken by a file besides its content.
const inodeCost = 1 << 10

// tmpfsBytes returns the usage of in-memory file systems.
func tmpfsBytes(mounts []string) (n int64) {
	for _, dir := range mounts {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			n += int64(st.Blocks-st.Bfree)*diskBlock(&st) + int64(st.Files-st.Ffree)*inodeCost
		}
	}
	return n
}

// sharedSegments returns the usage of System V shared memory, including swap.
func sharedSegments() (n int64) {
	f, err := os.Open("/proc/sysvipc/shm")
	if err != nil {
		return 0
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for first := true; sc.Scan(); first = false {
		if cols := strings.Fields(sc.Text()); !first && len(cols) >= 16 {
			rss, _ := strconv.ParseInt(cols[14], 10, 64)
			swap, _ := strconv.ParseInt(cols[15], 10, 64)
			n += rss + swap
		}
	}
	return n
}

// dropSegments removes System V shared memory that no process has attached. It outlives
// killed processes and counts toward the session's memory.
func dropSegments() {
	data, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(data)) {
		cols := strings.Fields(line)
		if len(cols) < 7 || cols[6] != "0" {
			continue
		}
		if id, err := strconv.Atoi(cols[1]); err == nil {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // fails for segments of others
		}
	}
}

// deletedOpen returns the usage of deleted files on the devices that processes hold open.
// blind means that some processes could not be inspected.
func deletedOpen(pids []int, dev map[uint64]bool) (total int64, blind bool) {
	seen := map[fileID]bool{}
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid) + "/fd"
		f, err := os.Open(dir)
		if err != nil {
			blind = blind || os.IsPermission(err)
			continue
		}
		names, err := f.Readdirnames(-1)
		f.Close()
		blind = blind || os.IsPermission(err)
		for _, name := range names {
			var st unix.Stat_t
			if unix.Stat(filepath.Join(dir, name), &st) != nil || st.Nlink > 0 || st.Mode&unix.S_IFMT != unix.S_IFREG {
				continue
			}
			if key := (fileID{device(&st), st.Ino}); dev[key.dev] && !seen[key] {
				seen[key] = true
				total += cost(&st)
			}
		}
	}
	return total, blind
}
