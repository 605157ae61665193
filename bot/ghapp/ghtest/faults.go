package ghtest

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// Faults says how often GitHub misbehaves. Rates are between 0 and 1 and are
// drawn in this order for every request; the same seed gives the same draws.
type Faults struct {
	Seed       uint64
	BadGateway float64       // 502, nothing was done
	Secondary  float64       // 403 with a secondary limit and retry-after, nothing was done
	RetryAfter time.Duration // of the secondary limit, whole seconds; 0 for one second
	Lost       float64       // writes only: done, and the connection is dropped without an answer
	Late       float64       // writes only: the connection is dropped, and the write is done later
	LateBy     time.Duration // upper bound of how much later
	// Match limits the faults to some requests; nil for all of the REST API.
	Match func(*http.Request) bool
}

type fault int

const (
	faultNone fault = iota
	faultBadGateway
	faultSecondary
	faultLost
	faultLate
)

type faultState struct {
	Faults
	rng    *rand.Rand
	counts map[fault]int
}

// SetFaults replaces the faults; the zero Faults ends them.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faultState{Faults: f, rng: rand.New(rand.NewPCG(f.Seed, 1)), counts: map[fault]int{}}
}

// FaultsInjected returns how many requests have met a fault since SetFaults.
func (s *Server) FaultsInjected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.faults.counts {
		n += c
	}
	return n
}

// Settled returns when no late write is outstanding: what is not visible then
// was not done.
func (s *Server) Settled(ctx context.Context) error {
	return s.Wait(ctx, func(s *Server) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.late == 0
	})
}

// draw decides the fate of one request and, for a late write, the delay.
func (s *Server) draw(r *http.Request) (fault, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.faults
	if f.rng == nil || (f.Match != nil && !f.Match(r)) {
		return faultNone, 0
	}
	write := r.Method != http.MethodGet && r.Method != http.MethodHead
	p := f.rng.Float64()
	late := time.Duration(f.rng.Float64() * float64(f.LateBy))
	for _, c := range []struct {
		kind fault
		rate float64
		on   bool
	}{
		{faultBadGateway, f.BadGateway, true},
		{faultSecondary, f.Secondary, true},
		{faultLost, f.Lost, write},
		{faultLate, f.Late, write},
	} {
		if !c.on {
			continue
		}
		if p < c.rate {
			f.counts[c.kind]++
			return c.kind, late
		}
		p -= c.rate
	}
	return faultNone, 0
}

// drop closes the connection of w without an answer.
func drop(w http.ResponseWriter) {
	if hj, ok := w.(http.Hijacker); ok {
		if conn, _, err := hj.Hijack(); err == nil {
			conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}
