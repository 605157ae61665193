package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

func sessionsKept(t *testing.T, e *env) {
	ctx := t.Context()
	full := &store.Session{
		ID: "s1", Thread: thread, Repo: "octo/hello", Requester: "octocat", Mode: "code", Model: "m", Branch: "agent/1-x", Base: "abc",
		State: "running", Status: "done", Pull: 3, Data: []byte(`{"a": "\u0000 b"}`),
	}
	must(t, e.Sessions.Create(ctx, full))
	want(t, "a second session with the same id", e.Sessions.Create(ctx, full), store.ErrExists)
	got, err := e.Sessions.Session(ctx, "s1")
	must(t, err)
	if diff := cmp.Diff(full, got); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	must(t, e.Sessions.Create(ctx, &store.Session{ID: "s2", Thread: thread}))
	got, err = e.Sessions.ByThread(ctx, thread)
	must(t, err)
	if got.ID != "s2" {
		t.Errorf("session of the thread is %s, want the newest", got.ID)
	}
	l := e.hold(t, "s2", "me")
	got, err = e.Sessions.Session(ctx, "s2")
	must(t, err)
	if got.Epoch != l.Epoch || got.Owner != "me" || !got.Until.Equal(l.Until) {
		t.Errorf("session shows the lease as %d, %q, %v; it is %+v", got.Epoch, got.Owner, got.Until, l)
	}
	_, err = e.Sessions.Session(ctx, "none")
	want(t, "session that is not there", err, store.ErrNotFound)
	_, err = e.Sessions.ByThread(ctx, "none")
	want(t, "session of no thread", err, store.ErrNotFound)
	if e.Sessions.Create(ctx, &store.Session{Thread: thread}) == nil {
		t.Error("created a session without an id")
	}
}

func sessionsListed(t *testing.T, e *env) {
	for i := range 6 {
		must(t, e.Sessions.Create(t.Context(), &store.Session{
			ID: fmt.Sprint("s", i), Thread: fmt.Sprint("t", i), Repo: fmt.Sprint("octo/", i%2), Requester: fmt.Sprint("u", i%3), State: session.Phase(fmt.Sprint("state", i%4)),
			Branch: []string{"", "b1", "b2"}[i%3], Pull: i % 5,
		}))
		e.clock.Add(time.Hour)
	}
	for name, test := range map[string]struct {
		query store.Query
		want  []string
	}{
		"all":       {store.Query{}, []string{"s5", "s4", "s3", "s2", "s1", "s0"}},
		"repo":      {store.Query{Repo: "octo/1"}, []string{"s5", "s3", "s1"}},
		"requester": {store.Query{Requester: "u0"}, []string{"s3", "s0"}},
		"thread":    {store.Query{Thread: "t4"}, []string{"s4"}},
		"both":      {store.Query{Thread: "t4", Repo: "octo/1"}, nil},
		"states":    {store.Query{States: []session.Phase{"state2", "state3"}}, []string{"s3", "s2"}},
		"limit":     {store.Query{Limit: 2}, []string{"s5", "s4"}},
		"before":    {store.Query{Before: e.clock.Now().Add(-4*time.Hour + time.Minute)}, []string{"s2", "s1", "s0"}},
		"since":     {store.Query{Since: e.clock.Now().Add(-2 * time.Hour), Limit: 9}, []string{"s5", "s4"}},
		"since now": {store.Query{Since: e.clock.Now()}, nil},
		"of repo":   {store.Query{Repo: "octo/1", Since: e.clock.Now().Add(-4 * time.Hour)}, []string{"s5", "s3"}},
		"pull":      {store.Query{Pulls: []int{1}}, []string{"s1"}},
		"no pull":   {store.Query{Pulls: []int{0, 9}}, nil},
		"branch":    {store.Query{Branches: []string{"b2"}}, []string{"s5", "s2"}},
		"no branch": {store.Query{Branches: []string{""}}, nil},
		"either":    {store.Query{Repo: "octo/1", Pulls: []int{2, 3}, Branches: []string{"b2", "b3"}}, []string{"s5", "s3"}},
		"none":      {store.Query{Repo: "octo/1", States: []session.Phase{"state0"}}, nil},
	} {
		got, err := e.Sessions.List(t.Context(), test.query)
		must(t, err)
		var ids []string
		for _, s := range got {
			ids = append(ids, s.ID)
		}
		if diff := cmp.Diff(test.want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// sessionsPaged lists all sessions page by page, once each and newest first, although the
// clock was set back while they were made.
func sessionsPaged(t *testing.T, e *env) {
	var made []string
	for i := range 7 {
		row := &store.Session{ID: fmt.Sprint("s", i), Thread: fmt.Sprint("t", i)}
		must(t, e.Sessions.Create(t.Context(), row))
		got, err := e.Sessions.Session(t.Context(), row.ID)
		must(t, err)
		if got.Seq != row.Seq || row.Seq == 0 {
			t.Errorf("%s was created as number %d and is number %d", row.ID, row.Seq, got.Seq)
		}
		made = append([]string{row.ID}, made...)
		e.clock.Add([]time.Duration{time.Hour, -3 * time.Hour, 0}[i%3])
	}
	var paged []string
	for q := (store.Query{Limit: 2}); ; {
		list, err := e.Sessions.List(t.Context(), q)
		must(t, err)
		for _, s := range list {
			paged = append(paged, s.ID)
		}
		if len(list) < q.Limit {
			break
		}
		q.Below = list[len(list)-1].Seq
	}
	if diff := cmp.Diff(made, paged); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// sessionsCounted counts the sessions that have not ended, and their open requests. A row
// that was written before requests were counted has one, as old as its last change.
func sessionsCounted(t *testing.T, e *env) {
	empty, err := e.Sessions.Tally(t.Context())
	must(t, err)
	if len(empty.States) != 0 || empty.Asked != 0 || !empty.Oldest.IsZero() {
		t.Errorf("without sessions: %+v", empty)
	}
	first := e.clock.Now().Truncate(time.Second)
	e.clock.Add(time.Hour)
	for i, row := range []store.Session{
		{State: session.PhaseRunning, Asked: 7, AskedAt: first.Add(-time.Hour)},
		{State: session.PhaseDone}, {State: session.PhaseRunning}, {State: session.PhasePlanned},
		{State: session.PhaseAwaitingApproval},
		{State: session.PhaseAwaitingApproval, Asked: 2, AskedAt: first.Add(1500 * time.Millisecond)},
		{State: session.PhaseAwaitingApproval, Asked: 1, AskedAt: first.Add(time.Minute)},
	} {
		row.ID, row.Thread = fmt.Sprint("s", i), fmt.Sprint("t", i)
		must(t, e.Sessions.Create(t.Context(), &row))
	}
	got, err := e.Sessions.Tally(t.Context())
	must(t, err)
	want := store.Tally{
		States: map[session.Phase]int{session.PhaseRunning: 2, session.PhaseAwaitingApproval: 3, session.PhasePlanned: 1},
		Asked:  4,
		Oldest: first.Add(time.Second),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// sessionsUpdate has two writers that have read the same row.
func sessionsUpdate(t *testing.T, e *env) {
	ctx := t.Context()
	must(t, e.Sessions.Create(ctx, &store.Session{ID: "s1", Thread: thread}))
	first, err := e.Sessions.Session(ctx, "s1")
	must(t, err)
	second, err := e.Sessions.Session(ctx, "s1")
	must(t, err)
	first.State = "queued"
	must(t, e.Sessions.Update(ctx, store.Fence{}, first))
	second.Pull = 7
	want(t, "the second update", e.Sessions.Update(ctx, store.Fence{}, second), store.ErrConflict)
	if second.Version != 1 {
		t.Errorf("a refused update changed the caller's version to %d", second.Version)
	}
	l := e.hold(t, "s1", "me")
	first.Pull = 8
	must(t, e.Sessions.Update(ctx, l.Fence(), first))
	got, err := e.Sessions.Session(ctx, "s1")
	must(t, err)
	if got.State != "queued" || got.Pull != 8 || got.Version != 3 {
		t.Errorf("session is %+v", got)
	}
	l = e.hold(t, "nosuch", "me")
	want(
		t,
		"update of no session",
		e.Sessions.Update(ctx, l.Fence(), &store.Session{ID: "nosuch", Thread: thread}),
		store.ErrNotFound,
	)
}

func intentLife(t *testing.T, e *env) {
	ctx, none := t.Context(), store.Fence{}
	in := &store.Intent{Key: "reply 1", Kind: "comment", Payload: []byte("{}")}
	must(t, e.Intents.Intend(ctx, none, in))
	must(t, e.Intents.Intend(ctx, none, &store.Intent{Key: "reply 2", Kind: "comment"}))
	settle := e.clock.Now().Add(time.Minute)
	got, err := e.Intents.Attempted(ctx, none, "reply 1", settle)
	must(t, err)
	if got.State != store.Attempted || got.Attempts != 1 || !got.NotBefore.Equal(settle) {
		t.Errorf("after an attempt: %+v", got)
	}
	again := &store.Intent{Key: "reply 1", Kind: "other"}
	must(t, e.Intents.Intend(ctx, none, again))
	if diff := cmp.Diff(&got, again); diff != "" {
		t.Errorf("intending again gives the stored intent (-want +got):\n%s", diff)
	}
	open, err := e.Intents.Open(ctx, "")
	must(t, err)
	if len(open) != 2 || open[0].Key != "reply 1" || open[1].Key != "reply 2" {
		t.Errorf("open intents are %+v", open)
	}
	must(t, e.Intents.Done(ctx, none, "reply 1", "42"))
	must(t, e.Intents.Done(ctx, none, "reply 1", "42"))
	want(t, "done with another result", e.Intents.Done(ctx, none, "reply 1", "43"), store.ErrConflict)
	want(t, "failed after done", e.Intents.Failed(ctx, none, "reply 1", "x"), store.ErrConflict)
	_, err = e.Intents.Attempted(ctx, none, "reply 1", settle)
	want(t, "attempt after done", err, store.ErrConflict)
	must(t, e.Intents.Failed(ctx, none, "reply 2", "gone"))
	_, err = e.Intents.Attempted(ctx, none, "reply 2", settle)
	want(t, "attempt after failed", err, store.ErrConflict)
	want(t, "done after failed", e.Intents.Done(ctx, none, "reply 2", "1"), store.ErrConflict)
	open, err = e.Intents.Open(ctx, "")
	must(t, err)
	if len(open) != 0 {
		t.Errorf("open at last: %+v", open)
	}
	want(t, "done of nothing", e.Intents.Done(ctx, none, "nosuch", "1"), store.ErrNotFound)
	if e.Intents.Intend(ctx, none, &store.Intent{Kind: "comment"}) == nil {
		t.Error("intended without a key")
	}
}

func intentFenced(t *testing.T, e *env) {
	ctx := t.Context()
	one, two := e.hold(t, "s1", "me").Fence(), e.hold(t, "s2", "me").Fence()
	must(t, e.Intents.Intend(ctx, one, &store.Intent{Key: "k", Session: "s1", Kind: "comment"}))
	if e.Intents.Done(ctx, two, "k", "1") == nil || e.Intents.Done(ctx, store.Fence{}, "k", "1") == nil {
		t.Error("an intent was finished without the lease of its session")
	}
	must(t, e.Intents.Done(ctx, one, "k", "1"))
	errs := parallel(8, func(i int) error {
		in := &store.Intent{Key: "same", Session: "s1", Kind: "comment", Payload: []byte(fmt.Sprint(i))}
		if err := e.Intents.Intend(ctx, one, in); err != nil {
			return err
		}
		if string(in.Payload) != fmt.Sprint(i) {
			return store.ErrExists
		}
		return nil
	})
	if won, lost := count(errs, nil), count(errs, store.ErrExists); won != 1 || lost != 7 {
		t.Errorf("%d intended first and %d got what was stored, want 1 and 7: %v", won, lost, errs)
	}
}

func metaValues(t *testing.T, e *env) {
	ctx := t.Context()
	_, err := e.Meta.Get(ctx, "k")
	want(t, "value that is not there", err, store.ErrNotFound)
	must(t, e.Meta.Set(ctx, "k", []byte{0, 255}))
	must(t, e.Meta.Set(ctx, "k", []byte("two")))
	got, err := e.Meta.Get(ctx, "k")
	must(t, err)
	if string(got) != "two" {
		t.Errorf("value is %q", got)
	}
	want(t, "swap of another value", e.Meta.Swap(ctx, "k", []byte("one"), []byte("x")), store.ErrConflict)
	want(t, "swap of none", e.Meta.Swap(ctx, "k", nil, []byte("x")), store.ErrConflict)
	must(t, e.Meta.Set(ctx, "empty", nil))
	must(t, e.Meta.Swap(ctx, "empty", []byte{}, []byte("full")))
	errs := parallel(8, func(i int) error { return e.Meta.Swap(ctx, "k", []byte("two"), []byte(fmt.Sprint(i))) })
	if won, lost := count(errs, nil), count(errs, store.ErrConflict); won != 1 || lost != 7 {
		t.Errorf("%d swapped and %d did not, want 1 and 7: %v", won, lost, errors.Join(errs...))
	}
	for _, key := range []string{"of é a", "of é", "of e", "OF é b", "of", "of é%"} {
		must(t, e.Meta.Set(ctx, key, []byte("here")))
	}
	must(t, e.Meta.DropAll(ctx, "of é"))
	must(t, e.Meta.DropAll(ctx, "none begins so"))
	must(t, e.Meta.Drop(ctx, "o"))
	must(t, e.Meta.Set(ctx, "gone", nil))
	must(t, e.Meta.Drop(ctx, "gone"))
	for key, stays := range map[string]bool{"of é a": false, "of é": false, "of é%": false, "of e": true, "OF é b": true, "of": true, "k": true, "gone": false} {
		if _, err := e.Meta.Get(ctx, key); stays != (err == nil) || store.Unless(err, store.ErrNotFound) != nil {
			t.Errorf("value %q after the drop: %v", key, err)
		}
	}
	if e.Meta.Drop(ctx, "") == nil || e.Meta.DropAll(ctx, "") == nil {
		t.Error("dropped everything")
	}
	if e.Meta.Set(ctx, "", nil) == nil {
		t.Error("stored a value without a key")
	}
}
