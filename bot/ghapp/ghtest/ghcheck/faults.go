package ghcheck

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// Faults configures GitHub's misbehavior. Rates are between 0 and 1 and are drawn in
// this order for every request; the same seed yields the same draws.
type Faults struct {
	Seed       uint64
	BadGateway float64       // 502, nothing was done
	NotFound   float64       // 404, nothing was done
	Secondary  float64       // 403 with a secondary limit and retry-after, nothing was done
	RetryAfter time.Duration // retry-after of Secondary, in whole seconds; 0 means one second
	Lost       float64       // writes only: done, but the connection drops without an answer
	Late       float64       // writes only: the connection drops, and the write is done later
	LateBy     time.Duration // maximum delay of a late write
	// Match selects the affected requests; nil means all.
	Match func(*http.Request) bool
	Git   bool // git requests selected by Match fail with 502 as well
}

type fault int

const (
	faultNone fault = iota
	faultBadGateway
	faultNotFound
	faultSecondary
	faultLost
	faultLate
)

// faulty is a handler that injects faults in front of the REST API.
type faulty struct {
	next http.Handler

	route func(*http.Request) string

	mu      sync.Mutex
	faults  Faults
	breaks  func(route string) Break
	rng     *rand.Rand
	met     int           // number of requests that met a fault
	late    int           // number of outstanding late writes
	settled chan struct{} // closed while late is 0
	closed  chan struct{} // closed to run late writes at once
	done    sync.WaitGroup
}

func newFaulty(route func(*http.Request) string) *faulty {
	f := &faulty{route: route, settled: make(chan struct{}), closed: make(chan struct{})}
	close(f.settled)
	return f
}

// SetFaults replaces the faults. The zero Faults disables them.
func (s *Server) SetFaults(f Faults) {
	s.faulty.mu.Lock()
	defer s.faulty.mu.Unlock()
	s.faulty.faults, s.faulty.met, s.faulty.rng = f, 0, rand.New(rand.NewPCG(f.Seed, 1))
}

// FaultsInjected returns the number of requests that met a fault since SetFaults.
func (s *Server) FaultsInjected() int {
	s.faulty.mu.Lock()
	defer s.faulty.mu.Unlock()
	return s.faulty.met
}

// Settled waits until no late write is outstanding. After that, an invisible write did
// not happen.
func (s *Server) Settled(ctx context.Context) error {
	for {
		s.faulty.mu.Lock()
		settled := s.faulty.settled
		s.faulty.mu.Unlock()
		select {
		case <-settled:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("wait for late writes: %w", ctx.Err())
		}
	}
}

// ServeHTTP implements http.Handler.
func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, by := f.draw(r)
	switch kind {
	case faultBadGateway:
		http.Error(w, "<html>502 Bad Gateway</html>", http.StatusBadGateway)
	case faultNotFound:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message":"Not Found","status":"404"}`)
	case faultSecondary:
		f.secondary(w)
	case faultLost:
		f.next.ServeHTTP(httptest.NewRecorder(), r)
		drop(w)
	case faultLate:
		f.later(r, by)
		drop(w)
	default:
		f.next.ServeHTTP(w, r)
	}
}

func (f *faulty) secondary(w http.ResponseWriter) {
	f.mu.Lock()
	after := f.faults.RetryAfter
	f.mu.Unlock()
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(after/time.Second))))
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprint(
		w,
		`{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","status":"403",
"documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`,
	)
}

// later carries out a write after its connection was dropped.
func (f *faulty) later(r *http.Request, by time.Duration) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.count(1)
	f.done.Go(func() {
		defer f.count(-1)
		t := time.NewTimer(by)
		defer t.Stop()
		select {
		case <-t.C:
		case <-f.closed:
		}
		f.next.ServeHTTP(httptest.NewRecorder(), r)
	})
}

func (f *faulty) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.late == 0 {
		f.settled = make(chan struct{})
	}
	if f.late += n; f.late == 0 {
		close(f.settled)
	}
}

// withoutGit returns a handler that fails with 502 on the git requests that meet a fault.
func (f *faulty) withoutGit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		away := f.faults.Git && (f.faults.Match == nil || f.faults.Match(r))
		if away {
			f.met++
		}
		f.mu.Unlock()
		if away {
			http.Error(w, "<html>502 Bad Gateway</html>", http.StatusBadGateway)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// draw chooses the fault of a request and, for a late write, the delay.
func (f *faulty) draw(r *http.Request) (fault, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	is := f.faults
	if f.rng == nil || is.Match != nil && !is.Match(r) {
		return faultNone, 0
	}
	write := r.Method != http.MethodGet && r.Method != http.MethodHead
	p := f.rng.Float64()
	late := time.Duration(f.rng.Float64() * float64(is.LateBy))
	for _, c := range []struct {
		kind fault
		rate float64
		on   bool
	}{
		{faultBadGateway, is.BadGateway, true},
		{faultNotFound, is.NotFound, true},
		{faultSecondary, is.Secondary, true},
		{faultLost, is.Lost, write},
		{faultLate, is.Late, write},
	} {
		if !c.on {
			continue
		}
		if p < c.rate {
			f.met++
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
