package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/seccomp"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// watchConfig returns the configuration of this session's watch.
func (h *host) watchConfig() watchConfig {
	c := watchConfig{Disk: h.cfg.Limits.DiskBytes, Dirs: h.cfg.Dirs, List: h.procs.list, Kill: h.procs.killEverything}
	if h.cfg.Hold {
		c.Memory, c.Threads = h.cfg.Limits.MemoryBytes, h.cfg.Limits.Pids
	}
	if !h.cfg.Init {
		return c
	}
	for _, m := range writableMounts() {
		switch {
		case m.kind == "tmpfs":
			c.Tmpfs = append(c.Tmpfs, m.at)
		case h.cfg.Upper != "" && m.at == h.cfg.Root, h.cfg.Cache != "" && m.at == workspace.CacheInside:
			c.Views = append(c.Views, m.at)
		default:
			c.Dirs = append(c.Dirs, m.at)
		}
	}
	for _, upper := range []string{h.cfg.Upper, h.cfg.Cache} {
		if upper != "" {
			c.Dirs = append(c.Dirs, upper)
		}
	}
	return c
}

// mountPoint is the mount point of a file system.
type mountPoint struct{ at, kind string }

// writableMounts returns the writable mounts of this mount namespace.
func writableMounts() (out []mountPoint) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	virtual := []string{"proc", "sysfs", "cgroup", "cgroup2", "mqueue", "devpts", "devtmpfs"}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		before, after, _ := strings.Cut(sc.Text(), " - ")
		b, a := strings.Fields(before), strings.Fields(after)
		if len(b) < 6 || len(a) < 3 || slices.Contains(virtual, a[0]) || !writable(b[5]) || !writable(a[2]) {
			continue
		}
		at := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(b[4])
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			out = append(out, mountPoint{at, a[0]})
		}
	}
	return out
}

func writable(options string) bool { return slices.Contains(strings.Split(options, ","), "rw") }

// onlyRemoves matches commands that only delete files or change modes.
var onlyRemoves = pattern.Lazy(`^\s*(rm|chmod\s+u?[+0-7][0-7rwxX]*)(\s+-[rfRdv]+)*(\s+(--\s+)?[\w./@%+:,=*?-]+)+\s*$`)

// mayRun refuses commands that could write more while the disk limit is exceeded.
func (h *host) mayRun(ctx context.Context, line string) error {
	why := h.watch.Full(context.WithoutCancel(ctx))
	if why == "" || onlyRemoves().MatchString(line) {
		return nil
	}
	return fmt.Errorf("%s. Until then only `rm -rf PATH…` and `chmod` run", why) //control:full-refuses
}

// Commands yield to the host that watches them: nicer is added to their nice value, up
// to nicest. The value is relative, because this program may have been started with
// nice, and no process may lower its own.
const (
	nicer  = 5
	nicest = 19
)

// launch creates the thread that starts children. They inherit its restrictions.
func (ps *processes) launch(cfg Config) error {
	if !cfg.Init {
		return nil
	}
	if cfg.Hold {
		ps.data = uint64(max(0, cfg.Limits.MemoryBytes))
	}
	ps.jobs = make(chan func())
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this function
		err := giveUp(cfg)
		ready <- err
		if err != nil {
			return
		}
		for job := range ps.jobs {
			job()
		}
	}()
	if err := <-ready; err != nil {
		return fmt.Errorf("limit commands: %w", err)
	}
	return nil
}

// endThread ends the thread.
func (ps *processes) endThread() {
	if ps.jobs != nil {
		close(ps.jobs)
	}
}

// onThread runs f on the thread that starts children.
func (ps *processes) onThread(f func() error) (err error) {
	if ps.jobs == nil {
		return f()
	}
	done := make(chan struct{})
	ps.jobs <- func() { defer close(done); err = f() }
	<-done
	return err
}

// giveUp restricts the calling thread.
func giveUp(cfg Config) error {
	is, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, 0, min(niceness(is)+nicer, nicest))
	}
	if err != nil {
		return fmt.Errorf("lower priority: %w", err)
	}
	if cfg.Hold && cfg.Limits.CPUs > 0 {
		if err := takeProcessors(int(math.Ceil(cfg.Limits.CPUs))); err != nil {
			return err
		}
	}
	err = seccomp.Commands(cfg.Hold)
	if errors.Is(err, seccomp.ErrUnknown) || errors.Is(err, unix.EINVAL) {
		return nil // reported when the server starts
	}
	return err
}

// all returns the processes of the session.
func (ps *processes) all() (pids []int) {
	if !ps.init {
		for _, fam := range ps.families() {
			pids = append(pids, ps.find(fam)...)
		}
		return pids
	}
	for _, p := range listProcesses() {
		if p.pid != os.Getpid() && p.state != 'Z' {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

func (ps *processes) families() (out []family) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for pid, mark := range ps.own {
		out = append(out, family{leader: pid, mark: mark, orphans: true})
	}
	return out
}

// killEverything kills all processes of the session. It stops them first, so that they
// start no others meanwhile.
func (ps *processes) killEverything() {
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for range 50 {
			pids := ps.all()
			if len(pids) == 0 {
				break
			}
			for _, pid := range pids {
				_ = syscall.Kill(pid, sig) // it may have ended
			}
			if sig == syscall.SIGSTOP {
				break
			}
			pause(2 * time.Millisecond)
			ps.reap()
		}
	}
	ps.dropSegments()
}

// dropSegments removes the shared memory segments of killed processes.
func (ps *processes) dropSegments() {
	if ps.init { // without init they are the machine's
		dropSegments() //control:left-segments
	}
}
