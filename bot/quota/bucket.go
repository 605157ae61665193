// Package quota says how much may be spent of what is scarce: what GitHub lets
// an installation write, what people may ask for, what is logged. It is pure:
// whoever asks says what time it is, and nothing waits here.
//
//	bucket.go   a token bucket, and a group of them by name
//	requests.go what people may ask for
//	writes.go   what may be written to GitHub
package quota

import "time"

// Bucket is a token bucket. It holds Size tokens, and a token that was taken
// is back Per later, so that in no stretch of that length more than Size are
// taken. A bucket of size 0 has no limit. It is not safe for concurrent use.
type Bucket struct {
	Size int
	Per  time.Duration
	// Share keeps one taker from having everything: nobody takes more when
	// they have Share times what is left. So something is left for whoever
	// comes next, and takers that all want more end with as much each. 0 lets
	// one taker have all.
	Share int

	taken []taking // oldest first
}

type taking struct {
	At time.Time `json:"at"`
	By string    `json:"by,omitempty"`
}

// Wait returns how long it takes until there is a token for by beside a
// reserve of others, 0 when there is one now.
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
			return b.Per // the reserve is all there is
		}
		if free++; b.taken[i].By == by {
			own--
		}
	}
}

// Take takes a token, whether there is one or not.
func (b *Bucket) Take(now time.Time, by string) {
	if b.Size <= 0 {
		return
	}
	b.forget(now)
	b.taken = append(b.taken, taking{now, by})
}

// forget drops what is back.
func (b *Bucket) forget(now time.Time) {
	n := 0
	for n < len(b.taken) && now.Sub(b.taken[n].At) >= b.Per {
		n++
	}
	b.taken = b.taken[n:]
}

// count returns how many tokens somebody has taken that are not back.
func (b *Bucket) count(by string) int {
	n := 0
	for _, t := range b.taken {
		if t.By == by {
			n++
		}
	}
	return n
}

// mostBuckets bounds the memory of a group.
const mostBuckets = 10_000

// Group is buckets of one size by name. A bucket that is full again is
// forgotten when there are too many, and then the one that was used longest
// ago. It is not safe for concurrent use.
type Group struct {
	Bucket // what each of them is like

	byName map[string]*Bucket
}

// Of returns the bucket of a name.
func (g *Group) Of(name string, now time.Time) *Bucket {
	if b := g.byName[name]; b != nil {
		return b
	}
	if g.byName == nil {
		g.byName = map[string]*Bucket{}
	}
	if len(g.byName) >= mostBuckets {
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
	if len(g.byName) >= mostBuckets {
		delete(g.byName, oldest)
	}
}
