package queue

import (
	"strings"

	"github.com/handrail-bot/handrail/bot/store"
)

// maxWaiting limits the number of waiting threads in memory. Others are in the
// database, and a later sweep finds them.
const maxWaiting = 5000

// offer is a thread that may have work.
type offer struct {
	store.Waiting

	due     bool      // work even without a delivery
	swept   bool      // found by a sweep that saw the lease at Epoch
	claimed chan bool // receives false if the wake must be retried; may be nil
}

// tell sends the result to the wake that waits for the offer.
func (o *offer) tell(ok bool) {
	if o.claimed != nil {
		o.claimed <- ok
		o.claimed = nil
	}
}

// slots chooses the threads to work on. It is not safe for concurrent use.
type slots struct {
	limits  Limits
	waiting map[string]*offer
	running map[string]*offer
	again   map[string]*offer // offers of running threads
	repos   map[string]int
	users   map[string]int
}

func newSlots(l Limits) *slots {
	return &slots{
		limits: l, waiting: map[string]*offer{}, running: map[string]*offer{}, again: map[string]*offer{},
		repos: map[string]int{}, users: map[string]int{},
	}
}

// add adds an offer. It reports whether the thread is already running.
func (s *slots) add(o *offer) (runs bool) {
	list := s.waiting
	if _, runs = s.running[o.Thread]; runs {
		list = s.again
	}
	old, known := list[o.Thread]
	switch {
	case known:
		old.merge(o)
	case len(list) < maxWaiting:
		list[o.Thread] = o
	default:
		o.tell(false)
	}
	return runs
}

// merge merges a second offer of the same thread into o.
func (o *offer) merge(next *offer) {
	o.due = o.due || next.due
	if next.swept {
		o.swept, o.Epoch = true, max(o.Epoch, next.Epoch)
	}
	o.Priority = min(o.Priority, next.Priority)
	if o.Sender == "" {
		o.Sender = next.Sender
	}
	if o.claimed == nil {
		o.claimed = next.claimed
		return
	}
	next.tell(false) // its job is retried later
}

// next removes and returns the offer to start now, or nil.
func (s *slots) next() *offer {
	var best *offer
	for _, o := range s.waiting {
		if s.fits(o) && (best == nil || s.before(o, best)) {
			best = o
		}
	}
	if best == nil {
		return nil
	}
	delete(s.waiting, best.Thread)
	s.running[best.Thread] = best
	s.repos[repo(best.Thread)]++
	s.users[best.Sender]++
	return best
}

func (s *slots) fits(o *offer) bool {
	total := s.limits.Total
	if o.Priority <= store.PriorityAnswer {
		total += s.limits.Reserve
	}
	return len(s.running) < total && s.repos[repo(o.Thread)] < s.limits.Repo &&
		(o.Sender == "" || s.users[o.Sender] < s.limits.User)
}

// before orders offers by priority, by number of running threads of the repository, then of
// the requester, and by age: a request need not wait for all earlier ones of another
// requester.
func (s *slots) before(a, b *offer) bool {
	if a.Priority != b.Priority {
		return a.Priority < b.Priority
	}
	if x, y := s.repos[repo(a.Thread)], s.repos[repo(b.Thread)]; x != y {
		return x < y
	}
	if x, y := s.users[a.Sender], s.users[b.Sender]; x != y { //control:requesters-take-turns
		return x < y
	}
	if !a.Since.Equal(b.Since) {
		return a.Since.Before(b.Since)
	}
	return a.Thread < b.Thread
}

// done frees the slot of an offer. A newer offer of the thread is queued again, because
// it may have arrived after the worker's last look.
func (s *slots) done(o *offer) {
	delete(s.running, o.Thread)
	drop(s.repos, repo(o.Thread))
	drop(s.users, o.Sender)
	if again, ok := s.again[o.Thread]; ok {
		delete(s.again, o.Thread)
		s.add(again)
	}
}

func drop(counts map[string]int, key string) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// repo returns the repository of a thread.
func repo(thread string) string {
	name, _, _ := strings.Cut(thread, "#")
	return name
}
