package main

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var staleRounds = flag.Int("stale.rounds", form(1, 2), "how often a server is stopped and continued")

// TestStale runs two servers over one PostgreSQL. One is stopped in the middle
// of a story, the other goes on, and the first is continued: it must write
// nothing any more.
func TestStale(t *testing.T) {
	longtest.Leave(t)
	needLeases(t)
	database := storetest.StartPostgres(t, false)
	stage := newCrashStage(t)
	tally := &crashTally{}
	for n := range uint64(*staleRounds) {
		a := stage.world(t, ghcheck.Faults{})
		a.child.Database = database.Database(t)
		b := a.second(t, "second")
		b.stops = 1
		a.start(t, 0)
		b.start(t, 0)
		r := rand.New(rand.NewPCG(n, 3))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			pause(time.Duration(150+r.IntN(700)) * time.Millisecond)
			_ = a.cmd.Process.Signal(syscall.SIGSTOP)
			b.gh.SetWebhook("http://" + b.child.Listen + "/webhook")
			pause(1500 * time.Millisecond) // longer than leases live
			_ = a.cmd.Process.Signal(syscall.SIGCONT)
		}()
		b.tell(t, func() { t.Fatalf("a server died:\n%s\n%s", a.log.String(), b.log.String()) })
		<-ended
		b.finish(t, tally)
		a.stop(t)
		if lost, duplicates := b.judge(t); len(lost)+len(duplicates) > 0 {
			t.Errorf("round %d, after the stale server went on: lost %q, duplicates %q\n%s", n, lost, duplicates, b.thread())
		}
	}
	t.Logf("stale: servers stopped and continued %d, lost %d, duplicates %d", *staleRounds, tally.lost, tally.duplicates)
}

// pause waits outside of the test's own time.
func pause(d time.Duration) { <-time.After(d) }

// second is another server over the same database.
func (w *crashWorld) second(t *testing.T, name string) *crashWorld {
	t.Helper()
	b := &crashWorld{gh: w.gh, repo: w.repo, dir: filepath.Join(w.dir, name), child: w.child}
	must(t, os.Mkdir(b.dir, 0o700))
	b.child.Trace = filepath.Join(b.dir, "died")
	t.Cleanup(func() {
		if b.cmd != nil {
			b.kill()
		}
	})
	b.child.Listen, b.child.Data = steadyAddress(t), filepath.Join(b.dir, "bot")
	return b
}
