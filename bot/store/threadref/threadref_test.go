package threadref_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// memory is a remote with one ref.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
	n     int
	after func(n int) error // what the writer is told of a write that was made
}

func (m *memory) commit() string {
	if m.n == 0 {
		return ""
	}
	return fmt.Sprint("c", m.n)
}

func (m *memory) ReadRef(context.Context, string) (map[string][]byte, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.files), m.commit(), nil
}

func (m *memory) WriteRef(_ context.Context, _ string, files map[string][]byte, old string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old != m.commit() {
		return "", threadref.ErrMoved
	}
	m.files = maps.Clone(files)
	m.n++
	if m.after != nil {
		if err := m.after(m.n); err != nil {
			return "", err
		}
	}
	return m.commit(), nil
}

// The ref keeps what every store keeps.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(_ *testing.T, now func() time.Time) store.Store {
		return threadref.New(threadref.Config{Repo: &memory{}, Ref: "refs/agent/sessions/thread-1", Now: now}).Store()
	}, 5)
}

const thread = "octo/hello#1"

// two returns two stores on one ref, as two workflow runs have them.
func two(m *memory, away func(context.Context, string) (bool, error)) (a, b *threadref.Store) {
	open := func() *threadref.Store {
		return threadref.New(threadref.Config{Repo: m, Ref: "refs/agent/sessions/thread-1", Away: away})
	}
	return open(), open()
}

func put(t *testing.T, s *threadref.Store, id string) {
	t.Helper()
	_, err := s.Store().Deliveries.Put(t.Context(), &store.Delivery{ID: id, Event: "issue_comment", Thread: thread, Payload: []byte("{}")})
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What one run leaves for another is found by it, and the lease is given back only with
// an empty inbox, whatever the order.
func TestInbox(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	a, b := two(&memory{}, func(context.Context, string) (bool, error) { return false, nil })
	put(t, a, "one")
	held, err := a.Store().Leases.Acquire(ctx, thread, "run-1-1", time.Hour)
	must(t, err)
	must(t, a.Store().Deliveries.Done(ctx, "", "one"))
	must(t, a.Store().Meta.Set(ctx, "k", []byte("a's own, which the ref has not"))) // behind
	put(t, b, "two")
	if _, err := b.Store().Leases.Acquire(ctx, thread, "run-2-1", time.Hour); !errors.Is(err, store.ErrHeld) {
		t.Errorf("the second run got the lease: %v", err)
	}
	if released, err := a.Store().Leases.Release(ctx, held, time.Time{}); released || err != nil {
		t.Errorf("released with a delivery in the inbox: %v, %v", released, err)
	}
	d, err := a.Store().Deliveries.Next(ctx, thread)
	must(t, err)
	if d.ID != "two" {
		t.Errorf("next is %s", d.ID)
	}
	must(t, a.Store().Deliveries.Done(ctx, "", "two"))
	if released, err := a.Store().Leases.Release(ctx, held, time.Time{}); !released || err != nil {
		t.Errorf("not released: %v, %v", released, err)
	}
	must(t, b.Refresh(ctx))
	if value, err := b.Store().Meta.Get(ctx, "k"); err != nil || len(value) == 0 {
		t.Errorf("the other run does not see what was written: %q, %v", value, err)
	}
	_, err = b.Store().Leases.Acquire(ctx, thread, "run-2-1", time.Hour)
	must(t, err)
}

// The lease of a run that has ended is free at once; that run's store writes no more.
func TestRunThatEnded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ended := false
	a, b := two(&memory{}, func(_ context.Context, owner string) (bool, error) {
		if owner != "run-1-1" {
			t.Errorf("asked for %q", owner)
		}
		return ended, nil
	})
	must(t, a.Store().Sessions.Create(ctx, &store.Session{ID: "s1", Thread: thread}))
	held, err := a.Store().Leases.Acquire(ctx, "s1", "run-1-1", time.Hour)
	must(t, err)
	if _, err := b.Store().Leases.Acquire(ctx, "s1", "run-2-1", time.Hour); !errors.Is(err, store.ErrHeld) {
		t.Fatalf("took the lease of a run that works: %v", err)
	}
	ended = true
	next, err := b.Store().Leases.Acquire(ctx, "s1", "run-2-1", time.Hour)
	must(t, err)
	note := func() *session.Event { return session.NewEvent(session.TypeNote, 0, session.Note{Text: "late"}) }
	must(t, a.Store().Logs.Log(held.Fence()).Append(ctx, note())) // it does not know yet
	if err := a.Flush(ctx); !errors.Is(err, session.ErrFenced) {
		t.Errorf("a run whose lease was taken wrote: %v", err)
	}
	must(t, b.Store().Logs.Log(next.Fence()).Append(ctx, note()))
	must(t, b.Flush(ctx))
	if err := a.Store().Logs.Log(held.Fence()).Append(ctx, note()); !errors.Is(err, session.ErrFenced) {
		t.Errorf("it went on: %v", err)
	}
	events, err := b.Store().Logs.Log(next.Fence()).Events(ctx, 0)
	must(t, err)
	if len(events) != 1 {
		t.Errorf("the log has %d events", len(events))
	}
}

// An answer that is lost after the ref moved makes no change twice.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := &memory{}
	a, b := two(m, nil)
	lost := errors.New("connection reset")
	m.after = func(int) error { return lost }
	held, err := a.Store().Leases.Acquire(ctx, "s1", "run-1-1", time.Hour)
	must(t, err)
	for range 3 {
		must(t, a.Store().Logs.Log(held.Fence()).Append(ctx, session.NewEvent(session.TypeEnded, 0, session.Ended{})))
	}
	if held.Epoch != 1 {
		t.Errorf("the lease was taken %d times", held.Epoch)
	}
	m.after = nil
	events, err := b.Store().Logs.Log(store.Fence{Key: "s1"}).Events(ctx, 0)
	must(t, err)
	if len(events) != 3 {
		t.Errorf("three events became %d", len(events))
	}
}

// A run does not end while something waits for it: what was put off, what a run left
// that has ended, what is due. It ends when the rest is another's who works.
func TestUntilIdle(t *testing.T) {
	t.Parallel()
	const mine, other = "run-2-1", "run-1-1"
	lease := func(s *threadref.Store, owner string) store.Lease {
		l, err := s.Store().Leases.Acquire(t.Context(), thread, owner, time.Hour)
		must(t, err)
		return l
	}
	for name, c := range map[string]struct {
		gone   bool
		before func(a, b *threadref.Store)
		after  func(b *threadref.Store) // ends the wait; nil where there is nothing to wait for
	}{
		"nothing": {before: func(_, _ *threadref.Store) {}},
		"put off": {
			before: func(_, b *threadref.Store) {
				_, err := b.Store().Leases.Release(t.Context(), lease(b, mine), time.Now().Add(10*time.Millisecond))
				must(t, err)
			},
			after: func(b *threadref.Store) {
				_, err := b.Store().Leases.Release(t.Context(), lease(b, mine), time.Time{})
				must(t, err)
			},
		},
		"put off for long": {before: func(_, b *threadref.Store) {
			_, err := b.Store().Leases.Release(t.Context(), lease(b, mine), time.Now().Add(time.Hour))
			must(t, err)
		}},
		"the lease of a run that ended": {
			gone:   true,
			before: func(a, _ *threadref.Store) { lease(a, other) },
			after: func(b *threadref.Store) {
				_, err := b.Store().Leases.Release(t.Context(), lease(b, mine), time.Time{})
				must(t, err)
			},
		},
		"another's work": {before: func(a, b *threadref.Store) {
			lease(a, other)
			put(t, b, "one")
			must(t, b.Store().Wakes.Wake(t.Context(), thread, store.PriorityWork, time.Time{}))
		}},
		"a wake": {
			before: func(_, b *threadref.Store) {
				must(t, b.Store().Wakes.Wake(t.Context(), thread, store.PriorityWork, time.Time{}))
				_, err := b.Store().Wakes.Waiting(t.Context(), 10) // a look takes nothing away
				must(t, err)
			},
			after: func(b *threadref.Store) {
				_, err := b.Store().Leases.Release(t.Context(), lease(b, mine), time.Time{})
				must(t, err)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := two(&memory{}, func(_ context.Context, owner string) (bool, error) { return c.gone && owner == other, nil })
			c.before(a, b)
			must(t, b.Refresh(t.Context()))
			ended := make(chan error, 1)
			go func() {
				ended <- b.UntilIdle(t.Context(), threadref.Watch{Owner: mine, Within: 10 * time.Minute, Look: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
			}()
			if c.after != nil {
				select {
				case <-ended:
					t.Fatal("it ended before the work was done")
				case <-time.After(50 * time.Millisecond):
				}
				c.after(b)
			}
			must(t, <-ended)
		})
	}
}

// What a person said yes to is begun in the ref before it begins.
func TestYesIsUsedUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := &memory{}
	a, _ := two(m, nil)
	held, err := a.Store().Leases.Acquire(ctx, "s1", "run-1-1", time.Hour)
	must(t, err)
	l := a.Store().Logs.Log(held.Fence())
	begin := func(call string) int {
		must(t, l.Append(ctx, session.NewEvent(session.TypeStarted, 1, session.Started{Call: call})))
		_, fresh := two(m, nil)
		events, err := fresh.Store().Logs.Log(held.Fence()).Events(ctx, 0)
		must(t, err)
		return len(events)
	}
	must(t, l.Append(ctx, session.NewEvent(session.TypeAsked, 1, session.Asked{ID: "a", Call: "c1"})))
	if n := begin("c2"); n != 1 {
		t.Errorf("the beginning of any call costs a write of the ref: %d events", n)
	}
	if n := begin("c1"); n != 3 {
		t.Errorf("the beginning of a call that a person was asked for is not in the ref: %d events", n)
	}
}

// Whatever must be known before something happens is in the ref when it is said to be,
// and all else in the order in which it was written.
func TestWhatIsInTheRef(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := &memory{}
	a, _ := two(m, nil)
	held, err := a.Store().Leases.Acquire(ctx, "s1", "run-1-1", time.Hour)
	must(t, err)
	f := held.Fence()
	fresh := func() store.Store { _, s := two(m, nil); return s.Store() }
	must(t, a.Store().Intents.Intend(ctx, f, &store.Intent{Key: "k", Session: "s1", Kind: "comment"}))
	if _, err := fresh().Effects.Effect(ctx, "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an intent alone cost a write of the ref: %v", err)
	}
	_, err = a.Store().Intents.Attempted(ctx, f, "k", time.Time{})
	must(t, err)
	if in, err := fresh().Effects.Effect(ctx, "k"); err != nil || in.State != store.Attempted {
		t.Errorf("an attempt is not in the ref: %+v, %v", in, err)
	}
	must(t, a.Store().Logs.Log(f).Append(ctx, session.NewEvent(session.TypeAnswer, 1, session.Answer{})))
	for n, kind := range []session.Type{session.TypeOpened, session.TypeMessage, session.TypeDecision, session.TypeAsked, session.TypeResolved, session.TypeCheckpoint, session.TypeEnded, "of another version"} {
		must(t, a.Store().Logs.Log(f).Append(ctx, session.NewEvent(kind, 1, struct{}{})))
		if events, err := fresh().Logs.Log(f).Events(ctx, 0); err != nil || len(events) != n+2 {
			t.Errorf("%s is not in the ref: %d events, %v", kind, len(events), err)
		}
	}
}

// A log of 10 MB is written in parts: an event more costs a part at the end.
func TestLongLog(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := &memory{}
	a, b := two(m, nil)
	held, err := a.Store().Leases.Acquire(ctx, "s1", "run-1-1", time.Hour)
	must(t, err)
	text := make([]byte, 20<<10)
	for range 500 {
		_, _ = rand.Read(text)
		must(t, a.Store().Logs.Log(held.Fence()).Append(ctx, session.NewEvent(session.TypeNote, 1, session.Note{Text: hex.EncodeToString(text[:10<<10])})))
	}
	must(t, a.Flush(ctx))
	before := maps.Clone(m.files)
	must(t, a.Store().Logs.Log(held.Fence()).Append(ctx, session.NewEvent(session.TypeEnded, 1, session.Ended{})))
	written := 0
	for name, data := range m.files {
		if !bytes.Equal(before[name], data) {
			written += len(data)
		}
	}
	if written > 300<<10 || len(m.files) < 20 {
		t.Errorf("one event more writes %d bytes; the ref has %d files", written, len(m.files))
	}
	events, err := b.Store().Logs.Log(held.Fence()).Events(ctx, 0)
	must(t, err)
	if len(events) != 501 || session.Verify(events) != nil {
		t.Errorf("%d events are read back: %v", len(events), session.Verify(events))
	}
	next := session.NewEvent(session.TypeNote, 1, session.Note{Text: "more"})
	must(t, b.Store().Logs.Log(held.Fence()).Append(ctx, next))
	must(t, b.Flush(ctx))
	must(t, a.Refresh(ctx))
}

// A ref does not grow with each session: of those that are over the oldest go, with all
// that is known of them. The newest stays, whatever its size.
func TestOldSessions(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := t.Context()
	text := make([]byte, 150<<10)
	_, _ = rand.Read(text)
	for name, c := range map[string]struct{ sessions, parts, left int }{
		"many": {30, 0, 20}, "large": {6, 2, 2}, "one that is large": {1, 14, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m, now := &memory{}, time.Now()
			s := threadref.New(threadref.Config{Repo: m, Ref: "refs/agent/sessions/thread-1", Now: func() time.Time { return now }, Limit: 1 << 20})
			kept := s.Store()
			for n := range c.sessions {
				id := fmt.Sprint("s", n)
				put(t, s, "d"+id)
				must(t, kept.Deliveries.Done(ctx, "", "d"+id))
				must(t, kept.Sessions.Create(ctx, &store.Session{ID: id, Thread: thread, State: session.PhaseDone}))
				l, err := kept.Leases.Acquire(ctx, id, "run-1-1", time.Hour)
				must(t, err)
				must(t, kept.Intents.Intend(ctx, l.Fence(), &store.Intent{Key: "k" + id, Session: id, Kind: "comment"}))
				for range c.parts {
					must(t, kept.Logs.Log(l.Fence()).Append(ctx, session.NewEvent(session.TypeNote, 1, session.Note{Text: hex.EncodeToString(text)})))
				}
				must(t, kept.Logs.Log(l.Fence()).Append(ctx, session.NewEvent(session.TypeEnded, 1, session.Ended{})))
				_, err = kept.Leases.Release(ctx, l, time.Time{})
				must(t, err)
				now = now.Add(48 * time.Hour)
			}
			must(t, kept.Meta.Set(ctx, "k", []byte("v")))
			must(t, s.Flush(ctx))
			_, again := two(m, nil)
			heads, err := again.Store().Logs.Heads(ctx)
			must(t, err)
			if len(heads) != c.left {
				t.Errorf("%d sessions are left, want %d", len(heads), c.left)
			}
			newest := fmt.Sprint("s", c.sessions-1)
			if _, err := again.Store().Effects.Effect(ctx, "k"+newest); err != nil {
				t.Error(err)
			}
			if row, err := again.Store().Sessions.ByThread(ctx, thread); err != nil || row.ID != newest {
				t.Errorf("the newest session is %+v, %v", row, err)
			}
			if unknown, err := again.Store().Deliveries.Unknown(ctx, "ds0", "d"+newest); err != nil || len(unknown) != map[bool]int{true: 1}[c.sessions > 15] {
				t.Errorf("unknown are %v, %v", unknown, err)
			}
			if _, err := again.Store().Effects.Effect(ctx, "ks0"); c.sessions > c.left != errors.Is(err, store.ErrNotFound) {
				t.Errorf("the first session's writes: %v", err)
			}
		})
	}
}

// TestUnfinishedSessionsStay: a session that is not over is kept, however old it is.
func TestUnfinishedSessionsStay(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := &memory{}
	a, _ := two(m, nil)
	for n := range 30 {
		row := &store.Session{ID: fmt.Sprint("s", n), Thread: thread, State: session.PhaseDone}
		if n == 0 {
			row.State = session.PhaseAwaitingApproval
		}
		must(t, a.Store().Sessions.Create(ctx, row))
	}
	must(t, a.Flush(ctx))
	_, again := two(m, nil)
	list, err := again.Store().Sessions.List(ctx, store.Query{})
	must(t, err)
	if len(list) != 20 || list[19].ID != "s0" || list[18].ID != "s11" {
		t.Errorf("%d sessions are left, the oldest are %s and %s", len(list), list[len(list)-1].ID, list[len(list)-2].ID)
	}
}

// What somebody changed, cut or took out is noticed.
func TestTamperedRef(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := &memory{}
	a, _ := two(m, nil)
	held, err := a.Store().Leases.Acquire(ctx, "s1", "run-1-1", time.Hour)
	must(t, err)
	must(t, a.Store().Logs.Log(held.Fence()).Append(ctx, session.NewEvent(session.TypeEnded, 1, session.Ended{})))
	for name := range m.files {
		for what, data := range map[string][]byte{"cut": m.files[name][:len(m.files[name])/2], "empty": {}, "gone": nil} {
			files := maps.Clone(m.files)
			if files[name] = data; data == nil {
				delete(files, name)
			}
			_, s := two(&memory{files: files, n: 1}, nil)
			if _, err := s.Store().Logs.Heads(ctx); err == nil {
				t.Errorf("%s %s: read all the same", name, what)
			}
		}
	}
}
