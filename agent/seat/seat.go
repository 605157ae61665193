// Package seat shares a server's models among the runs of a process. A server caches
// the prompt of a conversation while it has a slot for it. So a run keeps its seat
// until it leaves.
package seat

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Models are the models of one server. They are safe for concurrent use.
type Models struct {
	slots int
	mu    sync.Mutex
	lines map[string][]ticket // by model name; the first tickets, up to the number of slots, have seats
}

// ticket is the place of one run in a line. It is signaled when another run leaves
// the line.
type ticket chan struct{}

// New returns the models of a server with the given number of slots per model. 0
// means unlimited.
func New(slots int) *Models { return &Models{slots: slots, lines: map[string][]ticket{}} }

// Run holds at most one seat. Several goroutines may call Take concurrently and share
// the seat, but Leave must not run concurrently with Take.
type Run struct {
	taking  sync.Mutex
	models  *Models
	waiting func(before int)
	name    string
	at      ticket // nil without a seat
}

// Run returns a run without a seat. While it waits for one, waiting is called with
// the number of runs ahead, and with 0 once the wait is over.
func (m *Models) Run(waiting func(before int)) *Run { return &Run{models: m, waiting: waiting} }

// Take acquires a seat at a model and gives up any other. It waits while all seats
// are taken: first come, first served.
func (r *Run) Take(ctx context.Context, model string) error {
	model = strings.TrimSuffix(model, ":latest")
	r.taking.Lock()
	defer r.taking.Unlock()
	if r.models.slots == 0 || r.at != nil && r.name == model {
		return nil
	}
	r.Leave()
	r.name, r.at = model, r.models.join(model)
	seated := false
	defer func() {
		if !seated { // canceled or panicked
			r.Leave() //control:left-the-line
		}
	}()
	for last := 0; ; {
		before := r.models.before(model, r.at)
		if seated = before < r.models.slots; seated {
			before = 0
		}
		if before != last {
			r.waiting(before)
		}
		if last = before; seated {
			return nil
		}
		select {
		case <-r.at:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Leave gives up the run's seat, or its place in the line.
func (r *Run) Leave() {
	if r.at != nil {
		r.models.leave(r.name, r.at)
		r.at = nil
	}
}

func (m *Models) join(model string) ticket {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := make(ticket, 1)
	m.lines[model] = append(m.lines[model], t)
	return t
}

// before returns the number of tickets ahead of t in its line.
func (m *Models) before(model string, t ticket) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Index(m.lines[model], t)
}

func (m *Models) leave(model string, t ticket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := slices.DeleteFunc(m.lines[model], func(o ticket) bool { return o == t })
	if m.lines[model] = line; len(line) == 0 {
		delete(m.lines, model)
	}
	for _, o := range line {
		select {
		case o <- struct{}{}:
		default: // already signaled
		}
	}
}
