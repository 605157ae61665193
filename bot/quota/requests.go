package quota

import (
	"sync"
	"time"
)

// Hourly is the maximum number of requests accepted per hour; 0 means no limit.
type Hourly struct {
	Sender, Thread, Repository, Installation int
}

// Request names the quotas that a request counts against. An Urgent one (an answer to a
// request for approval, or a stop) may use the reserve.
type Request struct {
	Sender, Thread, Repository, Installation string
	Urgent                                   bool
}

// Requests counts requests by users. It is safe for concurrent use. A restart resets
// all counts.
type Requests struct {
	mu                          sync.Mutex
	sender, thread, repo, insta Group
}

// NewRequests returns unused quotas.
func NewRequests(h Hourly) *Requests {
	group := func(size, share int) Group {
		return Group{Bucket: Bucket{Size: size, Per: time.Hour, Share: share}}
	}
	return &Requests{
		sender: group(h.Sender, 0), thread: group(h.Thread, fair),
		repo: group(h.Repository, fair), insta: group(h.Installation, fair),
	}
}

// fair is the Share of a bucket with several takers: one gets at most four fifths of
// it.
const fair = 4

// reserveOf returns the part of a bucket that is reserved for urgent requests.
func reserveOf(size int) int { return size / 5 }

// Wait returns the time until a request may be processed; 0 means now.
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

// takerBucket is a bucket with its taker.
type takerBucket struct {
	*Bucket
	by string
}

func (q *Requests) buckets(now time.Time, r Request) []takerBucket {
	return []takerBucket{
		{q.sender.Of(r.Sender, now), ""},
		{q.thread.Of(r.Thread, now), r.Sender},
		{q.repo.Of(r.Repository, now), r.Sender},
		{q.insta.Of(r.Installation, now), r.Repository},
	}
}
