package bwrap

// A place is found in which this process may create control groups. With them the kernel limits all processes
// of a session together.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Groups locates interfaces of the kernel and systemd; zero means this machine.
type Groups struct {
	Mount   string // root of the control groups, /sys/fs/cgroup
	Self    string // lists the groups of this process, /proc/self/cgroup
	Runtime string // runtime directory of the user's systemd, /run/user/UID
	UID     int    // user of this process
}

// groupPlace is a place in which groups can be created. The zero value means none.
type groupPlace struct {
	version int    // 1, 2, or 0 if systemd creates them
	dir     string // parent group in version 2, mount point in version 1
	scope   []string
}

var controllers = []string{"memory", "pids", "cpu"}

// findGroup returns a place for groups, or an error that explains why there is none.
func findGroup(ctx context.Context, s Groups) (groupPlace, error) {
	if s.Mount == "" {
		s = Groups{Mount: "/sys/fs/cgroup", Self: "/proc/self/cgroup", UID: os.Geteuid()}
		s.Runtime = "/run/user/" + strconv.Itoa(s.UID)
	}
	if _, err := os.Stat(filepath.Join(s.Mount, "cgroup.controllers")); err != nil {
		return s.version1()
	}
	own, err := s.own()
	if err != nil {
		return groupPlace{}, err
	}
	err = prepareParent(own)
	if err == nil {
		sweep(own)
		return groupPlace{version: 2, dir: own}, nil
	}
	if s.UID == 0 && own != s.Mount && prepareParent(s.Mount) == nil {
		sweep(s.Mount)
		return groupPlace{version: 2, dir: s.Mount}, nil
	}
	if p, ok := s.systemd(ctx); ok {
		return p, nil
	}
	return groupPlace{}, fmt.Errorf("%w; with systemd write \"Delegate=yes\" into the service", err)
}

// version1 returns the place in version 1, in which each controller has its own tree.
func (s Groups) version1() (groupPlace, error) {
	for _, name := range controllers {
		if err := tryGroup(filepath.Join(s.Mount, name)); err != nil {
			return groupPlace{}, err
		}
		sweep(filepath.Join(s.Mount, name))
	}
	return groupPlace{version: 1, dir: s.Mount}, nil
}

// groupNames are the names of the groups that this program makes.
const groupNames = "handrail-*"

// sweep removes the empty groups of killed processes. The kernel keeps a group with
// processes, and one that is younger may belong to a session that begins.
func sweep(dir string) {
	list, _ := filepath.Glob(filepath.Join(dir, groupNames)) // the pattern is valid
	for _, group := range list {
		if info, err := os.Lstat(group); err == nil && info.IsDir() && time.Since(info.ModTime()) > time.Minute { //control:empty-groups-go
			_ = os.Remove(group) // it fails for a group in use
		}
	}
}

// tryGroup makes a group and removes it.
func tryGroup(dir string) error {
	trial := filepath.Join(dir, "handrail-trial-"+strconv.Itoa(os.Getpid()))
	err := os.Mkdir(trial, 0o755)
	if err == nil {
		err = os.Remove(trial)
	}
	if err != nil {
		return fmt.Errorf("no control groups can be made: %w", err)
	}
	return nil
}

// own returns the group of this process.
func (s Groups) own() (string, error) {
	data, err := os.ReadFile(s.Self)
	if err != nil {
		return "", fmt.Errorf("find own control group: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if rel, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(s.Mount, rel), nil
		}
	}
	return "", fmt.Errorf("find own control group: %s names none of version 2", s.Self)
}

// prepareParent prepares a group for subgroups, or returns an error that explains why it
// cannot.
func prepareParent(dir string) error {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read control group: %w", err)
	}
	for _, name := range controllers {
		if !slices.Contains(strings.Fields(string(have)), name) {
			return fmt.Errorf("the control group %s has no %q", dir, name)
		}
	}
	if err := tryGroup(dir); err != nil {
		return err
	}
	if err := enable(dir); err == nil {
		return nil
	}
	// A group with subgroups may have no processes itself.
	if err := moveDown(dir); err != nil {
		return err
	}
	return enable(dir)
}

func enable(dir string) error {
	return write(filepath.Join(dir, "cgroup.subtree_control"), "+memory +pids +cpu")
}

// moveDown moves the processes of a group to a new subgroup. It fails unless they are
// all this process and its children.
func moveDown(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return fmt.Errorf("read control group: %w", err)
	}
	pids := strings.Fields(string(data))
	for _, pid := range pids {
		if pid != strconv.Itoa(os.Getpid()) && !isChild(pid) {
			return fmt.Errorf("the control group %s is shared with other programs, such as process %s", dir, pid)
		}
	}
	below := filepath.Join(dir, "server")
	if err := os.Mkdir(below, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make control group: %w", err)
	}
	for _, pid := range pids {
		if err := write(filepath.Join(below, "cgroup.procs"), pid); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

func isChild(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return true // it has ended
	}
	after := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(after) > 1 && after[1] == strconv.Itoa(os.Getpid())
}

// systemd returns the place offered by this user's systemd: a scope for each session.
func (s Groups) systemd(ctx context.Context) (groupPlace, bool) {
	user := "user-" + strconv.Itoa(s.UID) + ".slice"
	have, err := os.ReadFile(
		filepath.Join(s.Mount, "user.slice", user, "user@"+strconv.Itoa(s.UID)+".service", "cgroup.controllers"),
	)
	if err != nil {
		return groupPlace{}, false
	}
	for _, name := range controllers {
		if !slices.Contains(strings.Fields(string(have)), name) {
			return groupPlace{}, false // systemd would silently ignore this limit
		}
	}
	run, err := exec.LookPath("systemd-run")
	if err != nil {
		return groupPlace{}, false
	}
	p := groupPlace{scope: []string{"env", "XDG_RUNTIME_DIR=" + s.Runtime, run, "--user", "--scope", "--quiet", "--collect"}}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	args := append(slices.Clone(p.scope[1:]), "--", "true")
	return p, exec.CommandContext(ctx, "env", args...).Run() == nil
}

// OK reports whether groups can be created.
func (p groupPlace) OK() bool { return p.version != 0 || p.scope != nil }

// group is the group of one session.
type group struct {
	dirs  []string
	procs []string
	scope []string
}

// Make creates a group with limits. A process enters it if its PID is written to each
// file of Enter, or if it is started with the prefix of Wrap.
func (p groupPlace) Make(name string, l workspace.Limits) (group, error) {
	l = l.WithDefaults()
	quota := int64(l.CPUs * period)
	memory, pids := strconv.FormatInt(l.MemoryBytes, 10), strconv.FormatInt(l.Pids+spare, 10)
	if p.scope != nil {
		return group{
			scope: append(slices.Clone(p.scope), "-p", "MemoryMax="+memory, "-p", "MemorySwapMax=0", "-p", "TasksMax="+pids,
				"-p", fmt.Sprintf("CPUQuota=%d%%", max(1, int64(l.CPUs*100))), "--"),
		}, nil
	}
	var g group
	files := [][3]string{
		{"memory", "memory.limit_in_bytes", memory}, {"memory", "memory.memsw.limit_in_bytes", memory},
		{
			"pids",
			"pids.max",
			pids,
		}, {"cpu", "cpu.cfs_period_us", strconv.Itoa(period)}, {"cpu", "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)},
	}
	if p.version == 2 {
		files = [][3]string{
			{"", "memory.max", memory},
			{"", "memory.swap.max", "0"},
			{"", "pids.max", pids},
			{"", "cpu.max", fmt.Sprintf("%d %d", quota, period)},
		}
	}
	for _, f := range files {
		dir := filepath.Join(p.dir, f[0], name)
		if !slices.Contains(g.dirs, dir) {
			g.dirs, g.procs = append(g.dirs, dir), append(g.procs, filepath.Join(dir, "cgroup.procs"))
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return g, errors.Join(fmt.Errorf("make control group: %w", err), g.Remove())
			}
		}
		err := write(filepath.Join(dir, f[1]), f[2])
		if err != nil &&
			(!strings.Contains(f[1], "sw") || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)) { // some kernels do not account for swap
			return g, errors.Join(err, g.Remove())
		}
	}
	return g, nil
}

// period is the period of the CPU quota in microseconds.
const period = 100_000

// spare is the number of threads for the tool host beyond the limit of processes.
const spare = 64

// Enter returns the files to which a process's PID must be written.
func (g group) Enter() []string { return g.procs }

// Wrap returns the prefix for a command that must run in the group.
func (g group) Wrap() []string { return g.scope }

// Remove removes the group. Its processes must have ended.
func (g group) Remove() error {
	var errs []error
	for _, dir := range g.dirs {
		var err error
		// The kernel releases the last process shortly after its exit, which takes seconds on a busy machine.
		for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
			if err = os.Remove(dir); !errors.Is(err, syscall.EBUSY) || time.Now().After(end) {
				break
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove control group: %w", err))
		}
	}
	return errors.Join(errs...)
}

// write writes to a control file of the kernel.
func write(file, text string) error {
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}
