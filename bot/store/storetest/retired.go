package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Delete runs the tests of stores that delete sessions.
func Delete(t *testing.T, open func(t *testing.T, now func() time.Time) (store.Store, store.Retired)) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *retired){
		"a session is deleted whole":          deleteWhole,
		"a session that is not over stays":    deleteUnfinished,
		"of several all go or none":           deleteAllOrNone,
		"a session that is worked on stays":   deleteHeld,
		"a session that somebody wants stays": deleteWaiting,
		"a log that has moved stays":          deleteMoved,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewClock()
			s, r := open(t, c.Now)
			test(t, &retired{env{Store: s, clock: c}, r})
		})
	}
}

type retired struct {
	env
	store.Retired
}

// over creates a session with a log in the given state, and returns the record of its
// deletion.
func (r *retired) over(t *testing.T, id string, state session.Phase) *store.Deleted {
	t.Helper()
	ctx := t.Context()
	must(t, r.Sessions.Create(ctx, &store.Session{ID: id, Thread: thread, State: state}))
	l := r.hold(t, id, "me")
	must(t, r.Logs.Log(l.Fence()).Append(ctx, note(0, "a"), note(1, "b")))
	must(t, r.Intents.Intend(ctx, l.Fence(), &store.Intent{Key: "of " + id, Session: id, Kind: "comment"}))
	must(t, r.Intents.Done(ctx, l.Fence(), "of "+id, "42"))
	_, err := r.Leases.Release(ctx, l, time.Time{})
	must(t, err)
	return r.record(t, id)
}

func (r *retired) record(t *testing.T, id string) *store.Deleted {
	t.Helper()
	d := &store.Deleted{Head: store.Head{Session: id}, Time: r.clock.Now(), Why: "a test", Key: "k", Sum: "s"}
	heads, err := r.Logs.Heads(t.Context())
	must(t, err)
	for _, h := range heads {
		if h.Session == id {
			d.Head = h
		}
	}
	return d
}

// kept checks that a session still exists with its whole log.
func (r *retired) kept(t *testing.T, id string) {
	t.Helper()
	_, err := r.Sessions.Session(t.Context(), id)
	must(t, err)
	events, err := r.Logs.Log(store.Fence{Key: id}).Events(t.Context(), 0)
	must(t, err)
	if len(events) == 0 {
		t.Errorf("session %s has no log", id)
	}
	_, err = r.Effects.Effect(t.Context(), "of "+id)
	must(t, err)
}

func deleteWhole(t *testing.T, r *retired) {
	ctx := t.Context()
	first, second := r.over(t, "s1", session.PhaseDone), r.over(t, "s2", session.PhaseDone)
	log, err := r.Logs.Log(store.Fence{Key: "s1"}).Events(ctx, 0)
	must(t, err)
	must(t, r.Delete(ctx, first))
	want(t, "a second deletion", r.Delete(ctx, first), store.ErrNotFound)
	_, err = r.Sessions.Session(ctx, "s1")
	want(t, "the session", err, store.ErrNotFound)
	_, err = r.Effects.Effect(ctx, "of s1")
	want(t, "its intent", err, store.ErrNotFound)
	events, err := r.Logs.Log(store.Fence{Key: "s1"}).Events(ctx, 0)
	must(t, err)
	heads, err := r.Logs.Heads(ctx)
	must(t, err)
	if len(events) > 0 || len(heads) != 1 {
		t.Errorf("%d events are left, and the logs %v", len(events), heads)
	}
	want(
		t,
		"a write of who held it",
		r.Logs.Log(store.Fence{Key: "s1", Epoch: 1}).Append(ctx, note(2, "c")),
		session.ErrFenced,
	)
	r.kept(t, "s2")
	r.left(t, *first)
	must(t, r.Delete(ctx, second))
	r.left(t, *first, *second)

	must(t, r.Logs.Import(ctx, "s1", log))
	r.left(t, *second)
}

func (r *retired) left(t *testing.T, is ...store.Deleted) {
	t.Helper()
	got, err := r.Deleted(t.Context())
	must(t, err)
	if diff := cmp.Diff(is, got); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// deleteAllOrNone deletes none of several sessions if one of them cannot go.
func deleteAllOrNone(t *testing.T, r *retired) {
	ctx := t.Context()
	first, busy := r.over(t, "s1", session.PhaseDone), r.over(t, "s2", session.PhaseRunning)
	last := r.over(t, "s3", session.PhaseDone)
	want(t, "deletion of three, one of which runs", r.Delete(ctx, first, busy, last), store.ErrNotOver)
	for _, id := range []string{"s1", "s2", "s3"} {
		r.kept(t, id)
	}
	r.left(t)
	must(t, r.Delete(ctx, first, last))
	r.left(t, *first, *last)
}

func deleteUnfinished(t *testing.T, r *retired) {
	for _, p := range append(session.Phases(), "", "a word of later") {
		d := r.over(t, "of "+string(p), p)
		if p.Over() {
			continue
		}
		want(t, "deletion of one that is "+string(p), r.Delete(t.Context(), d), store.ErrNotOver)
		r.kept(t, "of "+string(p))
	}
	r.left(t)
}

func deleteHeld(t *testing.T, r *retired) {
	for _, key := range []string{thread, "s1"} {
		if key == thread {
			r.over(t, "s1", session.PhaseDone)
		}
		l := r.hold(t, key, "me")
		want(t, "deletion while "+key+" is held", r.Delete(t.Context(), r.record(t, "s1")), store.ErrNotOver)
		_, err := r.Leases.Release(t.Context(), l, time.Time{})
		must(t, err)
	}
	r.kept(t, "s1")
	must(t, r.Delete(t.Context(), r.record(t, "s1")))
}

func deleteWaiting(t *testing.T, r *retired) {
	ctx := t.Context()
	d := r.over(t, "s1", session.PhaseDone)
	l := r.hold(t, "s1", "me")
	must(t, r.Intents.Intend(ctx, l.Fence(), &store.Intent{Key: "late", Session: "s1", Kind: "comment"}))
	_, err := r.Leases.Release(ctx, l, time.Time{})
	must(t, err)
	want(t, "deletion with an open intent", r.Delete(ctx, d), store.ErrNotOver)
	l = r.hold(t, "s1", "me")
	must(t, r.Intents.Failed(ctx, l.Fence(), "late", "no"))
	_, err = r.Leases.Release(ctx, l, time.Time{})
	must(t, err)
	_, err = r.Deliveries.Put(ctx, delivery("d1", thread))
	must(t, err)
	want(t, "deletion with a delivery that waits", r.Delete(ctx, d), store.ErrNotOver)
	r.kept(t, "s1")
	must(t, r.Deliveries.Done(ctx, "", "d1"))
	must(t, r.Delete(ctx, d))
}

func deleteMoved(t *testing.T, r *retired) {
	d := r.over(t, "s1", session.PhaseDone)
	d.Hash = "another"
	want(t, "deletion of another log", r.Delete(t.Context(), d), store.ErrConflict)
	r.kept(t, "s1")
}
