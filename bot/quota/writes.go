package quota

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Class says how much a write matters. The zero value is the ordinary one.
type Class int

// The classes of writes. When little is left, edits of progress yield first,
// then ordinary work; the reserve is for [First].
const (
	Work     Class = iota
	First          // requests for approval, answers to them, ends of sessions
	Progress       // edits that say how far a session has come
	Outsider       // signs for people without rights
)

// Limits is what one installation may write; 0 means no limit.
type Limits struct {
	PerMinute, PerHour int
	Reserve            int  // percent of both that only [First] may use
	Alone              bool // there is one repository, which may have all
}

// GitHub's limits on writes, and what is kept of them.
const (
	PerMinute = 80
	PerHour   = 500
	Reserve   = 20
)

// Writes is what an installation may write to GitHub: a bucket for a minute
// and one for an hour. It is safe for concurrent use.
type Writes struct {
	reserve int

	mu                     sync.Mutex
	minute, hour, outsider Bucket
}

// NewWrites returns a budget of which nothing is spent.
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

// Wait returns how long a write to a repository has to wait, 0 when it may be
// sent.
func (w *Writes) Wait(now time.Time, c Class, repo string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := max(w.minute.Wait(now, repo, w.kept(c, w.minute.Size)), w.hour.Wait(now, repo, w.kept(c, w.hour.Size)))
	if c == Outsider {
		longest = max(longest, w.outsider.Wait(now, repo, 0)) //control:outsiders-apart
	}
	return longest
}

// kept is the part of a bucket that a class may not use.
func (w *Writes) kept(c Class, size int) int {
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

// Turn is a write that waits for its turn.
type Turn struct {
	Class Class
	Repo  string
	Since time.Time
}

// Before orders writes that could all be sent: what matters more first, then
// the repository that wrote less within the hour, then by age.
func (w *Writes) Before(a, b Turn) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	order := [...]int{First: 0, Work: 1, Progress: 2, Outsider: 3}
	return cmp.Or(cmp.Compare(order[a.Class], order[b.Class]), cmp.Compare(w.hour.count(a.Repo), w.hour.count(b.Repo)), a.Since.Compare(b.Since))
}

// MarshalJSON returns what was spent within the hour, to be kept over a
// restart: GitHub counts on.
func (w *Writes) MarshalJSON() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return json.Marshal(w.hour.taken)
}

// UnmarshalJSON counts what MarshalJSON returned as spent.
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
