package host

import (
	"maps"
	"slices"
	"time"
)

// census is a scan of all processes of a machine that the session shares with others.
// It is expensive there, so it is rare. In between, the session's processes are found
// as descendants of its children.
type census struct {
	at     time.Time
	strays map[int]uint64 // processes of the session without a parent in it, with their start times
}

// censusEvery is the maximum time for which a stray process may go unmeasured.
const censusEvery = time.Second

// list returns the session's processes for measuring. brief omits strays newer than the
// last census. To kill processes, use [processes.all], which omits none.
func (ps *processes) list(brief bool) []int {
	if ps.init {
		return ps.all()
	}
	near, ok := ps.near()
	ps.mu.Lock()
	last := ps.seen
	ps.mu.Unlock()
	if !ok || !brief && time.Since(last.at) >= censusEvery {
		return ps.count(near)
	}
	for pid, started := range last.strays {
		if p, ok := process(pid); ok && p.started == started && p.state != 'Z' {
			near[pid] = true
		}
	}
	return slices.Collect(maps.Keys(near))
}

// count takes a census.
func (ps *processes) count(near map[int]bool) []int {
	all := ps.all()
	strays := map[int]uint64{}
	for _, pid := range all {
		if p, ok := process(pid); ok && !near[pid] {
			strays[pid] = p.started
		}
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.seen = census{time.Now(), strays}
	return all
}

// near returns the children and their descendants. The second result is false if the
// kernel does not provide them.
func (ps *processes) near() (pids map[int]bool, ok bool) {
	pids = map[int]bool{}
	ps.mu.Lock()
	next := slices.Collect(maps.Keys(ps.own))
	ps.mu.Unlock()
	for len(next) > 0 {
		pid := next[len(next)-1]
		next = next[:len(next)-1]
		if pids[pid] {
			continue
		}
		pids[pid] = true
		below, ok := children(pid)
		if !ok {
			return pids, false
		}
		next = append(next, below...)
	}
	return pids, true
}
