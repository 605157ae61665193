package seat

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Seats are given in the order in which they were asked for, who waits is told how many
// are before it, and a place that somebody does not want any more goes to the next.
func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(1)
		first := m.Run(func(int) { t.Error("the first waits") })
		for range 2 { // it has it
			if err := first.Take(t.Context(), "m"); err != nil {
				t.Fatal(err)
			}
		}
		var told [3][]int
		var ended [3]error
		var runs [3]*Run
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		for i := range runs {
			of := t.Context()
			if i == 1 {
				of = ctx
			}
			runs[i] = m.Run(func(n int) { told[i] = append(told[i], n) })
			go func() { ended[i] = runs[i].Take(of, "m:latest") }()
			synctest.Wait()
		}
		cancel(stop)
		synctest.Wait()
		if !errors.Is(ended[1], stop) {
			t.Errorf("a stop while it waits ends with %v", ended[1])
		}
		first.Leave()
		first.Leave() // twice frees one seat
		synctest.Wait()
		if !slices.Equal(told[0], []int{1, 0}) || !slices.Equal(told[1], []int{2}) || !slices.Equal(told[2], []int{3, 2, 1}) {
			t.Errorf("they were told %v", told)
		}
		runs[0].Leave()
		synctest.Wait()
		if !slices.Equal(told[2], []int{3, 2, 1, 0}) || ended[2] != nil {
			t.Errorf("the last was told %v: %v", told[2], ended[2])
		}
		runs[2].Leave()
		if len(m.lines) != 0 {
			t.Errorf("seats are left: %v", m.lines)
		}
	})
}

// Who goes on with another model leaves the seat at the first.
func TestAnotherModel(t *testing.T) {
	m := New(1)
	run := m.Run(nil)
	for _, name := range []string{"a", "b"} {
		if err := run.Take(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if other := m.Run(nil); other.Take(t.Context(), "a") != nil || len(m.lines) != 2 {
		t.Errorf("the seats are %v", m.lines)
	}
	all := New(0)
	for range 100 { // without a number there are seats for all
		if err := all.Run(nil).Take(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
	}
}

// A seat is always given back, whatever a run does and however it ends: at the end all
// are there, never more sat than there are, and nobody waits for nothing.
func TestSeatsComeBack(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			m := New(1 + rnd.IntN(3))
			var mu sync.Mutex
			sits := map[string]int{}
			var wg sync.WaitGroup
			for range 12 {
				steps, end, panics := rnd.Perm(4), time.Duration(rnd.IntN(30))*time.Second, rnd.IntN(4) == 0
				models := []string{"a", "b", "a:latest", "b"}[:1+rnd.IntN(3)]
				wg.Go(func() {
					defer func() { _ = recover() }()
					ctx, cancel := context.WithTimeout(t.Context(), end)
					defer cancel()
					run := m.Run(func(n int) {
						if panics && n > 1 {
							panic("told too much")
						}
					})
					defer run.Leave()
					for i, name := range models {
						if run.Take(ctx, name) != nil {
							return
						}
						mu.Lock()
						sits[run.name]++
						if sits[run.name] > m.slots {
							t.Errorf("seed %d: %d sit at %d seats", seed, sits[run.name], m.slots)
						}
						mu.Unlock()
						<-time.After(time.Duration(steps[i]) * time.Second)
						mu.Lock()
						sits[run.name]--
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if len(m.lines) != 0 {
				t.Errorf("seed %d: seats are left: %v", seed, m.lines)
			}
		})
	}
}
