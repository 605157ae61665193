// Package quota limits the use of scarce resources: writes to GitHub, requests by users
// and log entries. It is pure: the caller passes the time, and no call blocks.
//
//	bucket.go   a token bucket, and a group of them by name
//	requests.go quotas of requests
//	writes.go   the budget of writes to GitHub
package quota

import "time"

// Bucket is a token bucket with Size tokens. A token returns Per after it was taken, so
// at most Size are taken in any period of that length. Size 0 means no limit. A Bucket
// is not safe for concurrent use.
type Bucket struct {
	Size int
	Per  time.Duration
	// Share prevents one taker from emptying the bucket: it may hold at most Share times
	// the remaining tokens. So tokens remain for a newcomer, and greedy takers converge to
	// equal parts. 0 disables it.
	Share int

	taken []taking // oldest first
}

type taking struct {
	At time.Time `json:"at"`
	By string    `json:"by,omitempty"`
}

// Wait returns the time until by may take a token without using the reserve; 0 means
// now.
func (b *Bucket) Wait(now time.Time, by string, reserve int) time.Duration {
	if b.Size <= 0 {
		return 0
	}
	b.forget(now)
	free, own := b.Size-reserve-len(b.taken), b.count(by)
	for i := 0; ; i++ {
		if free > 0 && (b.Share == 0 || own < b.Share*free) { //control:fair-share
			if i == 0 {
				return 0
			}
			return b.taken[i-1].At.Add(b.Per).Sub(now)
		}
		if i == len(b.taken) {
			return b.Per // the reserve is the whole bucket
		}
		if free++; b.taken[i].By == by {
			own--
		}
	}
}

// Take takes a token, even if there is none left.
func (b *Bucket) Take(now time.Time, by string) {
	if b.Size <= 0 {
		return
	}
	b.forget(now)
	b.taken = append(b.taken, taking{now, by})
}

// forget removes the tokens that have returned. One that was taken in the future, before the clock
// was set back, counts as taken now.
func (b *Bucket) forget(now time.Time) {
	n := 0
	for i := range b.taken {
		if b.taken[i].At.After(now) { //control:taken-in-the-future
			b.taken[i].At = now
		}
	}
	for n < len(b.taken) && now.Sub(b.taken[n].At) >= b.Per {
		n++
	}
	b.taken = b.taken[n:]
}

// count returns the number of tokens that by holds.
func (b *Bucket) count(by string) int {
	n := 0
	for _, t := range b.taken {
		if t.By == by {
			n++
		}
	}
	return n
}

// maxBuckets is the maximum number of buckets of a group, to limit memory.
const maxBuckets = 10_000

// Group is a set of named buckets with equal parameters. If there are too many, it
// drops full ones, and then the least recently used one. A Group is not safe for
// concurrent use.
type Group struct {
	Bucket // parameters of each bucket

	byName map[string]*Bucket
}

// Of returns the bucket with a name.
func (g *Group) Of(name string, now time.Time) *Bucket {
	if b := g.byName[name]; b != nil {
		return b
	}
	if g.byName == nil {
		g.byName = map[string]*Bucket{}
	}
	if len(g.byName) >= maxBuckets {
		g.makeRoom(now)
	}
	b := &Bucket{Size: g.Size, Per: g.Per, Share: g.Share}
	g.byName[name] = b
	return b
}

func (g *Group) makeRoom(now time.Time) {
	var oldest string
	var used time.Time
	for name, b := range g.byName {
		if b.forget(now); len(b.taken) == 0 {
			delete(g.byName, name)
			continue
		}
		if last := b.taken[len(b.taken)-1].At; oldest == "" || last.Before(used) {
			oldest, used = name, last
		}
	}
	if len(g.byName) >= maxBuckets {
		delete(g.byName, oldest)
	}
}
