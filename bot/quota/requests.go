package quota

import (
	"sync"
	"time"
)

// Hourly is how many requests are accepted to work within an hour; 0 means no
// limit.
type Hourly struct {
	Sender, Thread, Repository, Installation int
}

// Request says whose quotas a request is for. What is Urgent (an answer to a
// request for approval, a stop) may use the reserve.
type Request struct {
	Sender, Thread, Repository, Installation string
	Urgent                                   bool
}

// Requests counts what people ask for. It is safe for concurrent use. What it
// knows is gone after a restart: then everybody begins anew.
type Requests struct {
	mu                          sync.Mutex
	sender, thread, repo, insta Group
}

// NewRequests returns quotas of which nothing is used.
func NewRequests(h Hourly) *Requests {
	group := func(size, share int) Group {
		return Group{Bucket: Bucket{Size: size, Per: time.Hour, Share: share}}
	}
	return &Requests{
		sender: group(h.Sender, 0), thread: group(h.Thread, fair),
		repo: group(h.Repository, fair), insta: group(h.Installation, fair),
	}
}

// fair is the share of a bucket of many: one taker gets at most four fifths.
const fair = 4

// reserveOf is the part of a bucket that only what is urgent may use.
func reserveOf(size int) int { return size / 5 }

// Wait returns how long a request has to wait, 0 when it may be worked on.
func (q *Requests) Wait(now time.Time, r Request) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	var longest time.Duration
	for _, b := range q.buckets(now, r) {
		reserve := reserveOf(b.Size)
		if r.Urgent {
			reserve = 0 //control:request-reserve
		}
		longest = max(longest, b.Wait(now, b.by, reserve))
	}
	return longest
}

// Take counts a request.
func (q *Requests) Take(now time.Time, r Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, b := range q.buckets(now, r) {
		b.Take(now, b.by)
	}
}

// takenBy is a bucket and who takes from it.
type takenBy struct {
	*Bucket
	by string
}

func (q *Requests) buckets(now time.Time, r Request) []takenBy {
	return []takenBy{
		{q.sender.Of(r.Sender, now), ""},
		{q.thread.Of(r.Thread, now), r.Sender},
		{q.repo.Of(r.Repository, now), r.Sender},
		{q.insta.Of(r.Installation, now), r.Repository},
	}
}
