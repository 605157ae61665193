// Package watch holds a session to what it may use where no control group and
// no file system does. It measures what all processes of the session use
// together and what their files take, and ends the processes when that is too
// much, with words that say why.
package watch

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Config says what to watch. A limit of 0 is not watched.
type Config struct {
	Memory  int64 // of all processes, and of Tmpfs
	Threads int64
	Disk    int64
	Dirs    []string // what is in them counts to Disk
	Views   []string // of Dirs under other devices, such as an overlay of one
	Tmpfs   []string // file systems in memory
	Kill    func()   // ends all processes of the session
	// List returns these processes. A brief list may leave out those that began lately and
	// left their family.
	List func(brief bool) []int
}

// Watch watches one session. Its methods are safe for concurrent use.
type Watch struct {
	cfg Config

	mu   sync.Mutex // held from measuring to the end of what follows from it
	disk *disk
	note string    // why processes were ended, until it is told
	next time.Time // when processes are due
}

// New measures the directories as they are now: only what is added counts.
func New(ctx context.Context, cfg Config) *Watch { return &Watch{cfg: cfg, disk: newDisk(ctx, cfg)} }

// Asking a file system how full it is costs nothing, asking of each process
// does.
const (
	always = 20 * time.Millisecond
	often  = 50 * time.Millisecond
	seldom = 200 * time.Millisecond
)

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
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

// look measures what is due, and ends everything when it is too much.
func (w *Watch) look(ctx context.Context, brief bool) {
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

// processes returns what is wrong with the processes, and whether they are near
// their limits.
func (w *Watch) processes(brief bool) (why string, near bool) {
	if w.cfg.Memory <= 0 && w.cfg.Threads <= 0 {
		return "", false
	}
	u := measure(w.cfg.List(brief))
	held := tmpfsBytes(w.cfg.Tmpfs) + sharedSegments()
	if w.cfg.Threads > 0 && u.threads > w.cfg.Threads { //control:watched-threads
		return fmt.Sprintf("there were %d processes and threads; %d are allowed", u.threads, w.cfg.Threads), true
	}
	if w.cfg.Memory > 0 && u.memory+held > w.cfg.Memory {
		u.share()                                           // pages that several have were counted for each
		if total := u.memory + held; total > w.cfg.Memory { //control:watched-memory
			return fmt.Sprintf("all processes together used %s of memory; %s are allowed", size(total), size(w.cfg.Memory)), true
		}
	}
	return "", u.memory+held > w.cfg.Memory/2
}

// Note returns why processes were ended since the last call, else "". It is
// called when a command has ended, and measures what that left.
func (w *Watch) Note(ctx context.Context) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk.due = true //control:measured-afterwards
	w.look(ctx, true)
	s := w.note
	w.note = ""
	return s
}

// Ended says that a program has ended, and may have left anything.
func (w *Watch) Ended() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk.due = true
}

// Wrote says that a file was written.
func (w *Watch) Wrote(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk.wrote(bytes)
}

// Full returns why nothing may be written now, else "". It knows what everything
// that has ended before left.
func (w *Watch) Full(ctx context.Context) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disk.floor > 0 || w.disk.due {
		w.disk.settle(ctx)
	}
	return w.disk.full()
}

// size returns a number of bytes for people.
func size(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
