// Package seat shares a model on its server among the runs of a process. A server
// computes a prompt once, and reuses what it has as long as it has a slot for that
// conversation. So a run takes a seat and keeps it until it leaves.
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
	lines map[string][]ticket // by the model's name; who stands before the number of slots has a seat
}

// ticket is the place of one run in a line. It has one in it when others left the line.
type ticket chan struct{}

// New returns the models of a server that has so many slots for each of them, 0 for as
// many as are asked for.
func New(slots int) *Models { return &Models{slots: slots, lines: map[string][]ticket{}} }

// Run is what one run has: a seat at a model, or none. Several goroutines may take it
// at once, and sit on the same seat; none of them may leave while another takes.
type Run struct {
	taking  sync.Mutex
	models  *Models
	waiting func(before int)
	name    string
	at      ticket // nil for none
}

// Run returns a run without a seat. While it waits for one, waiting is told how many
// runs are before it, and 0 when it waits no more.
func (m *Models) Run(waiting func(before int)) *Run { return &Run{models: m, waiting: waiting} }

// Take has the run sit at a model, and no other. It waits while the seats are taken:
// first come, first served.
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
		if !seated { // canceled, or a panic
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

// Leave gives the run's seat, or its place in the line, to the others.
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

// before is how many stand before a ticket in its line.
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
		default: // it knows
		}
	}
}
