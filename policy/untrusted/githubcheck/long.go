package githubcheck

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
)

// texts and seed configure a longer run: go test ./policy/untrusted -args
// -judge.texts=600000.
var (
	texts = flag.Int("judge.texts", 0, "how many generated texts GitHub's renderer judges")
	seed  = flag.Uint64("judge.seed", 10, "what the texts are generated from")
)

// Seed returns the seed of generated texts.
func Seed() uint64 { return *seed }

// Texts returns the number of texts that a test generates: the value of -judge.texts, or
// all if long is set, which tests take from HANDRAIL_LONG, or else some. These tests
// share no state and take minutes under the race detector, so some are enough there.
func Texts(long string, some, all int) int {
	switch {
	case *texts > 0:
		return *texts
	case long != "" && !race:
		return all
	}
	return some
}

// Giant reports whether -judge.texts is set.
func Giant() bool { return *texts > 0 }

// Each calls do with every number below n, in parallel.
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
