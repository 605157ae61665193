package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

func leaseOne(t *testing.T, e *env) {
	ctx := t.Context()
	_, err := e.Leases.Lease(ctx, thread)
	want(t, "lease that never was", err, store.ErrNotFound)
	one := e.hold(t, thread, "one")
	if one.Epoch != 1 || one.Owner != "one" || !one.Until.Equal(e.clock.Now().Add(time.Minute)) {
		t.Errorf("first lease is %+v", one)
	}
	for _, owner := range []string{"two", "one"} {
		_, err = e.Leases.Acquire(ctx, thread, owner, time.Minute)
		want(t, "acquire while held, as "+owner, err, store.ErrHeld)
	}
	e.clock.Add(59 * time.Second)
	one, err = e.Leases.Heartbeat(ctx, one, time.Minute)
	must(t, err)
	e.clock.Add(59 * time.Second)
	_, err = e.Leases.Acquire(ctx, thread, "two", time.Minute)
	want(t, "acquire after a heartbeat", err, store.ErrHeld)
	e.clock.Add(2 * time.Second)
	two := e.hold(t, thread, "two")
	if two.Epoch != 2 {
		t.Errorf("second epoch is %d, want 2", two.Epoch)
	}
	_, err = e.Leases.Heartbeat(ctx, one, time.Minute)
	want(t, "heartbeat of the first holder", err, session.ErrFenced)
	_, err = e.Leases.Release(ctx, one, e.clock.Now())
	want(t, "release by the first holder", err, session.ErrFenced)
	stored, err := e.Leases.Lease(ctx, thread)
	must(t, err)
	if diff := cmp.Diff(two, stored); diff != "" {
		t.Errorf("stored lease (-want +got):\n%s", diff)
	}
	for _, bad := range [][2]string{{"", "x"}, {"x", ""}, {"a\x00", "x"}} {
		if _, err := e.Leases.Acquire(ctx, bad[0], bad[1], time.Minute); err == nil {
			t.Errorf("acquired %q as %q", bad[0], bad[1])
		}
	}
}

func leaseContention(t *testing.T, e *env) {
	for round := int64(1); round <= 5; round++ {
		errs := parallel(8, func(int) error {
			_, err := e.Leases.Acquire(t.Context(), thread, "x", time.Minute)
			return err
		})
		if won, lost := count(errs, nil), count(errs, store.ErrHeld); won != 1 || lost != 7 {
			t.Fatalf("round %d: %d won and %d found it held, want 1 and 7: %v", round, won, lost, errs)
		}
		l, err := e.Leases.Lease(t.Context(), thread)
		must(t, err)
		if l.Epoch != round {
			t.Errorf("round %d: epoch is %d", round, l.Epoch)
		}
		e.clock.Add(time.Hour)
	}
}

// leasePaused stops the first holder for longer than its lease, lets a second one work,
// and wakes the first again: all of its writes must fail.
func leasePaused(t *testing.T, e *env) {
	ctx := t.Context()
	row := &store.Session{ID: "s1", Thread: thread}
	must(t, e.Sessions.Create(ctx, row))
	old := e.hold(t, "s1", "one")
	must(t, e.Logs.Log(old.Fence()).Append(ctx, note(1, "one")))
	must(t, e.Intents.Intend(ctx, old.Fence(), &store.Intent{Key: "i", Session: "s1", Kind: "comment"}))
	e.clock.Add(time.Hour)
	cur := e.hold(t, "s1", "two")
	must(t, e.Logs.Log(cur.Fence()).Append(ctx, note(1, "two")))

	stale := old.Fence()
	_, attempted := e.Intents.Attempted(ctx, stale, "i", time.Time{})
	copied := *row
	for what, err := range map[string]error{
		"append":             e.Logs.Log(stale).Append(ctx, note(2, "late")),
		"change":             e.Logs.Apply(ctx, stale, store.Change{Done: []string{"d"}}),
		"intend":             e.Intents.Intend(ctx, stale, &store.Intent{Key: "j", Session: "s1", Kind: "comment"}),
		"attempt":            attempted,
		"done":               e.Intents.Done(ctx, stale, "i", "r"),
		"failed":             e.Intents.Failed(ctx, stale, "i", "r"),
		"update":             e.Sessions.Update(ctx, stale, &copied),
		"update, no fence":   e.Sessions.Update(ctx, store.Fence{}, &copied),
		"intend, other key":  e.Intents.Intend(ctx, store.Fence{Key: "s2", Epoch: 1}, &store.Intent{Key: "k", Session: "s1", Kind: "comment"}),
		"intend, no fence":   e.Intents.Intend(ctx, store.Fence{}, &store.Intent{Key: "l", Session: "s1", Kind: "comment"}),
		"append, next epoch": e.Logs.Log(store.Fence{Key: "s1", Epoch: cur.Epoch + 1}).Append(ctx, note(2, "early")),
	} {
		want(t, what, err, session.ErrFenced)
	}
	events, err := e.Logs.Log(cur.Fence()).Events(ctx, 0)
	must(t, err)
	if diff := cmp.Diff([]string{"one", "two"}, texts(t, events)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	must(t, e.Sessions.Update(ctx, cur.Fence(), row))

	// The holder of an expired lease may go on until the lease is taken over.
	e.clock.Add(time.Hour)
	must(t, e.Logs.Log(cur.Fence()).Append(ctx, note(2, "still here")))
	// After the release it may not.
	_, err = e.Leases.Release(ctx, cur, time.Time{})
	must(t, err)
	want(t, "append after the release", e.Logs.Log(cur.Fence()).Append(ctx, note(3, "gone")), session.ErrFenced)
}

// leaseBehind has one worker read a delivery, and a second one finish it and release its
// session. The first one then takes the session and must not do the work again.
func leaseBehind(t *testing.T, e *env) {
	ctx := t.Context()
	must(t, e.Sessions.Create(ctx, &store.Session{ID: "s1", Thread: thread}))
	for _, id := range []string{"d", "later"} {
		_, err := e.Deliveries.Put(
			ctx,
			&store.Delivery{ID: id, Event: "issue_comment", Thread: thread, Payload: []byte("{}")},
		)
		must(t, err)
	}
	cur := e.hold(t, "s1", "two")
	must(t, e.Logs.Apply(ctx, cur.Fence(), store.Change{Events: []*session.Event{note(1, "two")}, Done: []string{"d"}}))
	_, err := e.Leases.Release(ctx, cur, time.Time{})
	must(t, err)

	f := e.hold(t, "s1", "one").Fence()
	again := store.Change{Events: []*session.Event{note(1, "one")}, Done: []string{"later", "d"}}
	want(t, "what was done, again", e.Logs.Apply(ctx, f, again), session.ErrFenced)
	events, err := e.Logs.Log(f).Events(ctx, 0)
	must(t, err)
	if diff := cmp.Diff([]string{"two"}, texts(t, events)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if d, err := e.Deliveries.Next(ctx, thread); err != nil || d.ID != "later" {
		t.Errorf("next is %+v, %v; nothing of a change that failed is kept", d, err)
	}
}

// leaseRelease has a delivery and a wake arrive between the holder's last check and its
// release.
func leaseRelease(t *testing.T, e *env) {
	ctx := t.Context()
	held, err := e.Leases.Want(ctx, thread)
	must(t, err)
	if held {
		t.Error("a lease that never was is held")
	}
	l := e.hold(t, thread, "one")
	_, err = e.Deliveries.Put(ctx, delivery("a", thread))
	must(t, err)
	release := func(when string, expect bool) {
		t.Helper()
		got, err := e.Leases.Release(ctx, l, time.Time{})
		must(t, err)
		if got != expect {
			t.Errorf("%s: released is %v, want %v", when, got, expect)
		}
	}
	release("with an undone delivery", false)
	must(t, e.Deliveries.Done(ctx, "", "a"))
	held, err = e.Leases.Want(ctx, thread)
	must(t, err)
	if !held {
		t.Error("want finds nobody while the lease is held")
	}
	beat, err := e.Leases.Heartbeat(ctx, l, time.Minute)
	must(t, err)
	if !beat.Wanted {
		t.Error("the heartbeat does not tell that the lease is wanted")
	}
	release("after a want", false)
	release("with nothing to do", true)
	held, err = e.Leases.Want(ctx, thread)
	must(t, err)
	if held {
		t.Error("a released lease is held")
	}
	e.wantWaiting(t, "after the release")
}

func leaseBackoff(t *testing.T, e *env) {
	ctx := t.Context()
	_, err := e.Deliveries.Put(ctx, delivery("a", thread))
	must(t, err)
	for attempt := range 3 {
		l := e.hold(t, thread, "one")
		if l.Attempts != attempt {
			t.Errorf("attempt %d: lease counts %d", attempt, l.Attempts)
		}
		released, err := e.Leases.Release(ctx, l, e.clock.Now().Add(time.Minute))
		must(t, err)
		if !released {
			t.Error("a release with a backoff was refused")
		}
		e.wantWaiting(t, "while it backs off")
		_, err = e.Leases.Acquire(ctx, thread, "two", time.Minute)
		want(t, "acquire while it backs off", err, store.ErrPutOff)
		row, err := e.Leases.Lease(ctx, thread)
		must(t, err)
		if until := e.clock.Now().Add(time.Minute); !row.NotBefore.Equal(until) || row.Attempts != attempt+1 ||
			row.Owner != "" {
			t.Errorf("while it backs off until %s the lease is %+v", until, row)
		}
		e.clock.Add(time.Minute)
		e.wantWaiting(t, "after the backoff", thread)
	}
	l := e.hold(t, thread, "one")
	_, err = e.Leases.Release(ctx, l, e.clock.Now())
	must(t, err)
	e.wantWaiting(t, "after handing it over", thread)
	if l = e.hold(t, thread, "two"); l.Attempts != 3 {
		t.Errorf("handing over changed the attempts to %d", l.Attempts)
	}
	must(t, e.Deliveries.Done(ctx, "", "a"))
	_, err = e.Leases.Release(ctx, l, time.Time{})
	must(t, err)
	if l = e.hold(t, thread, "two"); l.Attempts != 0 {
		t.Errorf("success left %d attempts", l.Attempts)
	}
}
