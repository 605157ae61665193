package githubcheck

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
)

// texts and seed make a run of their own: go test ./policy/untrusted -args -judge.texts=600000.
var (
	texts = flag.Int("judge.texts", 0, "how many generated texts GitHub's renderer judges")
	seed  = flag.Uint64("judge.seed", 10, "what the texts are generated from")
)

// Seed is what generated texts begin with.
func Seed() uint64 { return *seed }

// Texts is how many texts a test generates: some, or all where long, which tests take
// from HANDRAIL_LONG, is set, or what -judge.texts says. Nothing is shared in these
// tests, so under the race detector, where they take minutes, some are enough.
func Texts(long string, some, all int) int {
	switch {
	case *texts > 0:
		return *texts
	case long != "" && !race:
		return all
	}
	return some
}

// Giant reports whether -judge.texts asks for a number of texts.
func Giant() bool { return *texts > 0 }

// Each calls do with every number below n, some at a time.
func Each(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
