package bot_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// brittle panics where it is told to.
type brittle struct {
	bot.Runner
	store.Logs
	runs, reads int // of each, before the next one panics; negative: never
}

func (b *brittle) Run(ctx context.Context, w bot.Work) (session.Outcome, error) {
	if b.runs--; b.runs == -1 {
		panic("a run: index out of range [1] with length 1")
	}
	return b.Runner.Run(ctx, w)
}

func (b *brittle) Log(f store.Fence) session.Log { return brittleLog{b.Logs.Log(f), b} }

type brittleLog struct {
	session.Log
	b *brittle
}

func (l brittleLog) Events(ctx context.Context, after int64) ([]session.Event, error) {
	if l.b.reads--; l.b.reads == -1 {
		panic("a fold: nil map")
	}
	return l.Log.Events(ctx, after)
}

// never is a count that does not come down to nothing in a test.
const never = -2000

// A run that panics is tried once and told in the thread as crashed; status and
// retry are answered afterwards.
func TestRunThatPanics(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	b := &brittle{Runner: w, Logs: w.store.Logs, reads: never}
	w.bot = w.brittle(b)
	w.say("/agent fix it")
	must(t, w.work())
	if b.runs != -1 {
		t.Errorf("the session ran %d times, want once", -b.runs)
	}
	if w.count("**crashed**") == 0 || w.count("index out of range") == 0 {
		t.Fatalf("the thread does not say that it crashed: %q", w.own())
	}
	w.say("/agent status")
	must(t, w.work())
	if w.count("; the progress comment stays up to date") != 1 {
		t.Errorf("status was not answered: %q", w.own())
	}
	w.say("/agent retry")
	must(t, w.work())
	if w.count("It is done.") == 0 {
		t.Errorf("retry did not run: %q", w.own())
	}
}

// A panic wherever a log is read, while deliveries are handled or while a
// session is worked on, is told in the thread once, and the next words are
// answered.
func TestPanicAtEveryReading(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for n := 0; ; n++ {
		w := newWorld(t)
		b := &brittle{Runner: w, Logs: w.store.Logs, runs: -2000, reads: never}
		w.bot = w.brittle(b)
		w.say("/agent fix it")
		b.reads = n
		for range 3 { // a panic that is not told would come again and again
			if err := w.recovered(); err != nil {
				t.Fatalf("reading %d: the work fails: %v", n, err)
			}
		}
		whole := b.reads >= 0
		b.reads = never
		if !whole && w.count("fault in Handrail itself") == 0 && w.count("It is done.") == 0 {
			t.Errorf("reading %d: nobody was told: %q", n, w.own())
		}
		if got := len(w.own()); got > 4 {
			t.Errorf("reading %d: %d comments: %q", n, got, w.own())
		}
		w.say("/agent help")
		w.say("/agent status")
		must(t, w.work())
		if w.count("show this list") != 1 {
			t.Errorf("reading %d: help was not answered: %q", n, w.own())
		}
		if text := strings.Join(w.own(), "\n"); !strings.Contains(text, "; the progress comment stays up to date") && !strings.Contains(text, "no session in this thread") {
			t.Errorf("reading %d: status was not answered: %q", n, w.own())
		}
		if whole {
			if n < 3 {
				t.Fatalf("only %d readings in a whole session", n)
			}
			return
		}
	}
}

// A write whose preparation panics is given up, and the work goes on.
func TestClockThatPanics(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	w.say("/agent fix it")
	must(t, w.work())
	armed := true
	w.bot = w.brittleWith(func(c *bot.Config) {
		c.Now = func() time.Time {
			if armed {
				armed = false
				panic("clock")
			}
			return time.Now()
		}
	})
	w.say("/agent status")
	w.say("/agent help")
	must(t, w.work())
	if w.count("I could not do this") != 1 || w.count("show this list") != 1 {
		t.Errorf("the bot wrote %q", w.own())
	}
}

// recovered works as the queue does, which lets a panic that reaches it pass
// for a failure.
func (w *world) recovered() (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	return w.work()
}

func (w *world) brittle(b *brittle) *bot.Bot {
	return w.brittleWith(func(c *bot.Config) {
		c.Store.Logs, c.Runner = b, b
	})
}

func (w *world) brittleWith(change func(*bot.Config)) *bot.Bot {
	w.t.Helper()
	cfg := bot.Config{
		Store: w.store.Store, GitHub: w.client(), Runner: w, Policy: policy.DefaultConfig(), Model: "m",
		TTL: 10 * time.Minute, Settle: 10 * time.Millisecond, Every: time.Millisecond,
	}
	change(&cfg)
	b, err := bot.New(cfg)
	must(w.t, err)
	return b
}

// deadly is a runner under which the process dies: nothing after it happens.
type deadly struct {
	bot.Runner
	runs int
	well bool
}

func (d *deadly) Run(ctx context.Context, w bot.Work) (session.Outcome, error) {
	d.runs++
	if !d.well {
		runtime.Goexit()
	}
	return d.Runner.Run(ctx, w)
}

// A session at which the server dies again and again ends as crashed, and a
// person can have it tried again.
func TestDeadlySession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := &deadly{Runner: w}
	w.say("/agent fix it")
	start := func() {
		w.bot = w.brittleWith(func(c *bot.Config) { c.Runner = d }) // another process
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := w.work(); err != nil {
				t.Error(err)
			}
		}()
		<-ended
	}
	for range 12 {
		start()
	}
	if d.runs != 8 {
		t.Errorf("the server died %d times at it, want 8", d.runs)
	}
	if w.count("**crashed**") == 0 || w.count("The server crashed 8 times in a row") == 0 {
		t.Errorf("the thread does not say so: %q", w.own())
	}
	d.well = true
	w.say("/agent retry")
	start()
	if w.count("**done**")+w.count("**no changes**") == 0 {
		t.Errorf("retry does not help: %q", w.own())
	}
}

// loses is a runner that loses the session to another process, which is gone at once.
type loses struct {
	*world
	runs, until int
}

// Run implements bot.Runner.
func (r *loses) Run(ctx context.Context, w bot.Work) (session.Outcome, error) {
	if r.runs++; r.runs > r.until {
		return r.world.Run(ctx, w)
	}
	row, err := r.store.Sessions.ByThread(ctx, r.issue.Key())
	must(r.t, err)
	l, err := r.store.Leases.Lease(ctx, row.ID)
	must(r.t, err)
	_, err = r.store.Leases.Release(ctx, l, time.Time{})
	must(r.t, err)
	l, err = r.store.Leases.Acquire(ctx, row.ID, "another", time.Minute)
	must(r.t, err)
	_, err = r.store.Leases.Release(ctx, l, time.Time{})
	must(r.t, err)
	return session.Outcome{}, session.ErrFenced
}

// A process that loses a session and takes it again, any number of times, has not died.
func TestLostIsNotDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := &loses{world: w, until: 12}
	w.bot = w.brittleWith(func(c *bot.Config) { c.Runner = r })
	w.say("/agent fix it")
	for range r.until {
		if err := w.work(); !errors.Is(err, session.ErrFenced) {
			t.Fatalf("a run that lost its session ended by %v", err)
		}
	}
	must(t, w.work())
	if w.count("**crashed**") > 0 || w.count("**done**")+w.count("**no changes**") == 0 {
		t.Errorf("after %d runs the thread says %q", r.runs, w.own())
	}
}
