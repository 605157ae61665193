package host

// The watch enforces limits of a session that no control group and no file system
// enforces. It measures the usage of all processes of the session and of their files. If
// it is too high, it ends the processes and records the reason.

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// watchConfig configures a watch. A limit of 0 is not watched.
type watchConfig struct {
	Memory  int64 // bytes, of all processes and of Tmpfs
	Threads int64
	Disk    int64
	Dirs    []string // their content counts toward Disk
	Views   []string // Dirs as seen through other devices, such as an overlay
	Tmpfs   []string // in-memory file systems
	Kill    func()   // ends all processes of the session
	// List returns the processes of the session. A brief list may omit recent ones that have
	// left their family.
	List func(brief bool) []int
}

// fileWatch watches one session. Its methods are safe for concurrent use.
type fileWatch struct {
	cfg watchConfig

	mu   sync.Mutex // held from a measurement until its consequences are done
	disk *disk
	note string    // reason why processes were ended, until it is reported
	next time.Time // time of the next measurement of processes
}

// newWatch measures the directories as they are now. Only growth counts.
func newWatch(ctx context.Context, cfg watchConfig) *fileWatch {
	return &fileWatch{cfg: cfg, disk: newDisk(ctx, cfg)}
}

// Asking a file system for its usage is cheap; asking each process is not.
const (
	always = 20 * time.Millisecond
	often  = 50 * time.Millisecond
	seldom = 200 * time.Millisecond
)

// Run watches until ctx ends.
func (w *fileWatch) Run(ctx context.Context) {
	t := time.NewTicker(always)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		w.mu.Lock()
		w.look(ctx, false)
		w.mu.Unlock()
	}
}

// look makes the measurements due, and ends all processes if a limit is exceeded.
func (w *fileWatch) look(ctx context.Context, brief bool) {
	why := ""
	if now := time.Now(); now.After(w.next) {
		var near bool
		why, near = w.processes(brief)
		w.next = now.Add(seldom)
		if near {
			w.next = now.Add(often)
		}
	}
	if why == "" {
		why = w.disk.over(ctx, brief)
	}
	if why != "" {
		w.note = why
		w.cfg.Kill()
		w.disk.settle(ctx)
	}
}

// processes returns the limit exceeded by the processes, or "", and whether they are near
// their limits.
func (w *fileWatch) processes(brief bool) (why string, near bool) {
	if w.cfg.Memory <= 0 && w.cfg.Threads <= 0 {
		return "", false
	}
	u := measure(w.cfg.List(brief))
	held := tmpfsBytes(w.cfg.Tmpfs) + sharedSegments()
	if w.cfg.Threads > 0 && u.threads > w.cfg.Threads { //control:watched-threads
		return fmt.Sprintf("there were %d processes and threads; %d are allowed", u.threads, w.cfg.Threads), true
	}
	if w.cfg.Memory > 0 && u.memory+held > w.cfg.Memory {
		u.share()                                           // shared pages were counted once per process
		if total := u.memory + held; total > w.cfg.Memory { //control:watched-memory
			return fmt.Sprintf("all processes together used %s of memory; %s are allowed", watchSize(total), watchSize(w.cfg.Memory)), true
		}
	}
	return "", u.memory+held > w.cfg.Memory/2
}

// Note returns the reason why processes were ended since the last call, or "". It
// measures first, so call it when a command has ended.
func (w *fileWatch) Note(ctx context.Context) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk.due = true //control:measured-afterwards
	w.look(ctx, true)
	s := w.note
	w.note = ""
	return s
}

// Ended records that a program has ended, and may have left files.
func (w *fileWatch) Ended() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk.due = true
}

// Wrote records that a file of the given size was written.
func (w *fileWatch) Wrote(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk.wrote(bytes)
}

// Full returns the reason why nothing may be written now, or "". It takes everything into
// account that ended before the call.
func (w *fileWatch) Full(ctx context.Context) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disk.floor > 0 || w.disk.due {
		w.disk.settle(ctx)
	}
	return w.disk.full()
}

// watchSize formats a number of bytes.
func watchSize(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
