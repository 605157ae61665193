package host

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// markEnv names the variable that identifies the processes of one shell or program, even
// after setsid.
const markEnv = "HANDRAIL_MARK"

// processes starts children and tracks their descendants.
type processes struct {
	init  bool // this process is the init of its PID namespace
	limit uint64
	data  uint64 // memory limit per child in bytes; 0 means unlimited
	mu    sync.Mutex
	own   map[int]string    // by PID: marks of children with a waiter
	born  map[string]uint64 // by mark: start time of its child
	seen  census
	jobs  chan func() // run on the thread that passes its limits to children; nil if there is none
}

// start starts cmd. Its waiter must call forget when cmd has ended.
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

// ignoreExit drops the error of a nonzero exit status, as after a kill.
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

// reap collects inherited children that have ended.
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

// reapEach collects each inherited child when it ends, until stop is called. Otherwise those that end while no
// command does would count against the limit of processes.
func (ps *processes) reapEach() (stop func()) {
	ended, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(ended, syscall.SIGCHLD) //control:orphans-are-reaped
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-ended:
				ps.reap()
			case <-over:
				return
			}
		}
	})
	return func() {
		signal.Stop(ended)
		close(over)
		work.Wait()
	}
}

// has reports whether a child has a waiter. The caller holds ps.mu.
func (ps *processes) has(pid int) bool {
	_, ok := ps.own[pid]
	return ok
}

type procInfo struct {
	pid, parent, session int
	state                byte
	started              uint64 // in kernel ticks; 0 if unknown
}

// family identifies the processes of one child: its process group and session, its
// descendants, and the processes with its mark. With orphans set, it includes the orphans
// if this process is the init.
type family struct {
	leader  int
	mark    string
	orphans bool
}

// killAll kills a family. It stops when none is left, or after 50 rounds if some cannot
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
