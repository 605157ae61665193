package quota

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Class is the importance of a write. The zero value means ordinary work.
type Class int

// The classes of writes. If the budget is low, progress edits yield first, then
// ordinary work. The reserve is for [First].
const (
	Work     Class = iota
	First          // requests for approval, answers to them, and ends of sessions
	Progress       // edits that show progress
	Outsider       // writes for unprivileged accounts
)

// Limits is the write budget of one installation; 0 means no limit.
type Limits struct {
	PerMinute, PerHour int
	Reserve            int  // percentage of both reserved for [First]
	Alone              bool // a single repository, which may use the whole budget
}

// GitHub's limits on writes, and the percentage in reserve.
const (
	PerMinute = 80
	PerHour   = 500
	Reserve   = 20
)

// Writes is the write budget of an installation: one bucket per minute and one per
// hour. It is safe for concurrent use.
type Writes struct {
	reserve int

	mu                     sync.Mutex
	minute, hour, outsider Bucket
}

// NewWrites returns an unused budget.
func NewWrites(l Limits) *Writes {
	share := fair
	if l.Alone {
		share = 0
	}
	w := &Writes{
		reserve: l.Reserve,
		minute:  Bucket{Size: l.PerMinute, Per: time.Minute, Share: share},
		hour:    Bucket{Size: l.PerHour, Per: time.Hour, Share: share},
	}
	if l.PerHour > 0 {
		w.outsider = Bucket{Size: max(1, l.PerHour/20), Per: time.Hour, Share: share}
	}
	return w
}

// Wait returns the time until a write to a repository may be sent; 0 means now.
func (w *Writes) Wait(now time.Time, c Class, repo string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := max(
		w.minute.Wait(now, repo, w.reserved(c, w.minute.Size)),
		w.hour.Wait(now, repo, w.reserved(c, w.hour.Size)),
	)
	if c == Outsider {
		longest = max(longest, w.outsider.Wait(now, repo, 0)) //control:outsiders-apart
	}
	return longest
}

// reserved returns the part of a bucket that is closed to a class.
func (w *Writes) reserved(c Class, size int) int {
	switch c {
	case First:
		return 0
	case Progress, Outsider:
		return size / 2 //control:progress-yields
	}
	return size * w.reserve / 100 //control:write-reserve
}

// Take counts a write.
func (w *Writes) Take(now time.Time, c Class, repo string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.minute.Take(now, repo)
	w.hour.Take(now, repo)
	if c == Outsider {
		w.outsider.Take(now, repo)
	}
}

// Turn is a queued write.
type Turn struct {
	Class Class
	Repo  string
	Since time.Time
}

// Before orders queued writes: by importance, then by the repository's number of writes
// within the hour, then by age.
func (w *Writes) Before(a, b Turn) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	order := [...]int{First: 0, Work: 1, Progress: 2, Outsider: 3}
	return cmp.Or(
		cmp.Compare(order[a.Class], order[b.Class]),
		cmp.Compare(w.hour.count(a.Repo), w.hour.count(b.Repo)),
		a.Since.Compare(b.Since),
	)
}

// MarshalJSON returns the writes of the last hour, to be kept across a restart, because
// GitHub's limits do not reset with it.
func (w *Writes) MarshalJSON() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return json.Marshal(w.hour.taken)
}

// UnmarshalJSON adds the writes that MarshalJSON returned.
func (w *Writes) UnmarshalJSON(data []byte) error {
	var taken []taking
	if err := json.Unmarshal(data, &taken); err != nil {
		return fmt.Errorf("read writes: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range []*Bucket{&w.minute, &w.hour} {
		if b.Size > 0 {
			b.taken = append(append([]taking(nil), taken...), b.taken...)
		}
	}
	return nil
}
