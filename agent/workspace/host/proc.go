package host

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// markEnv names the variable by which everything started from one shell or
// program is found again, also after setsid.
const markEnv = "HANDRAIL_MARK"

// processes starts children and finds what they left.
type processes struct {
	init  bool // every process of the namespace comes from here
	limit uint64
	data  uint64 // bytes of memory of one child, 0 for any
	mu    sync.Mutex
	own   map[int]string    // marks of children that have a waiter
	born  map[string]uint64 // when children with a mark started
	seen  census
	jobs  chan func() // run on the thread whose limits children inherit; nil where there is none
}

// start starts cmd, whose waiter calls forget when it is done.
func (ps *processes) start(cmd *exec.Cmd, mark string) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if err := ps.onThread(cmd.Start); err != nil {
		return err
	}
	if ps.own == nil {
		ps.own, ps.born = map[int]string{}, map[string]uint64{}
	}
	ps.own[cmd.Process.Pid] = mark
	if p, ok := process(cmd.Process.Pid); ok {
		ps.born[mark] = p.started
	}
	if err := ps.confine(cmd.Process.Pid); err != nil {
		return errors.Join(err, cmd.Process.Kill(), ignoreExit(cmd.Wait()))
	}
	return nil
}

// ignoreExit drops the error that a process did not exit with 0, as after a kill.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

func (ps *processes) forget(pid int) {
	ps.mu.Lock()
	delete(ps.own, pid)
	ps.mu.Unlock()
}

// reap collects children that were inherited and have ended.
func (ps *processes) reap() {
	if !ps.init {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range listProcesses() {
		if p.parent == os.Getpid() && p.state == 'Z' && !ps.has(p.pid) {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// has reports whether a child has a waiter. ps.mu is held.
func (ps *processes) has(pid int) bool {
	_, ok := ps.own[pid]
	return ok
}

type procInfo struct {
	pid, parent, session int
	state                byte
	started              uint64 // in the kernel's ticks; 0 if they are unknown
}

// family is what came from one child: its process group and session, what
// descends from it or carries its mark, and, where asked for and all orphans
// are ours, the orphans.
type family struct {
	leader  int
	mark    string
	orphans bool
}

// killAll kills a family, until nothing is left of it or what is left cannot
// be killed.
func (ps *processes) killAll(fam family) {
	leader := fam.leader
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	for range 50 {
		victims := ps.find(fam)
		if len(victims) == 0 {
			break
		}
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		pause(2 * time.Millisecond)
		ps.reap()
	}
	ps.reap()
}

func pause(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
}

func (ps *processes) find(fam family) []int {
	all := listProcesses()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	bad, clean := map[int]bool{fam.leader: true}, map[int]bool{}
	self, born := os.Getpid(), ps.born[fam.mark]
	for again := true; again; {
		again = false
		for _, p := range all {
			if bad[p.pid] || p.pid == self || p.state == 'Z' {
				continue
			}
			orphan := fam.orphans && ps.init && p.parent == self && !ps.has(p.pid)
			marked := p.started >= born && !clean[p.pid] && hasMark(p.pid, fam.mark)
			if bad[p.parent] || p.session == fam.leader || orphan || marked {
				bad[p.pid] = true
				again = true
			} else {
				clean[p.pid] = true
			}
		}
	}
	var out []int
	for _, p := range all {
		if bad[p.pid] && p.state != 'Z' {
			out = append(out, p.pid)
		}
	}
	return out
}

// waitable reports whether fd has bytes to read right now.
func waitable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
}
