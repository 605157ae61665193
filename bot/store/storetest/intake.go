package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/store"
)

const thread = "octo/hello#1"

// deliveriesOnce stores, in every order, a redelivery and the two deliveries that GitHub
// sends for one comment if both an App hook and a repository hook see it.
func deliveriesOnce(t *testing.T, e *env) {
	make3 := func(run int) []*store.Delivery {
		app, hook, again := delivery(fmt.Sprint("app", run), thread), delivery(fmt.Sprint("hook", run), thread), delivery(fmt.Sprint("app", run), thread)
		for _, d := range []*store.Delivery{app, hook, again} {
			d.Key = fmt.Sprint("comment ", run, " 2026-03-04T05:06:07Z")
		}
		return []*store.Delivery{app, hook, again}
	}
	for run, order := range permutations(3) {
		all := make3(run)
		stored := 0
		for _, i := range order {
			got, err := e.Deliveries.Put(t.Context(), all[i])
			must(t, err)
			if got[0] {
				stored++
			}
		}
		if stored != 1 {
			t.Errorf("order %v: stored %d deliveries of one comment, want 1", order, stored)
		}
	}
	both := make3(100)
	got, err := e.Deliveries.Put(t.Context(), both...)
	must(t, err)
	if diff := cmp.Diff([]bool{true, false, false}, got); diff != "" {
		t.Errorf("in one call (-want +got):\n%s", diff)
	}
	edited := delivery("edited", thread)
	edited.Key = "comment 100 2026-03-04T05:09:09Z"
	plain1, plain2 := delivery("plain1", thread), delivery("plain2", thread)
	got, err = e.Deliveries.Put(t.Context(), edited, plain1, plain2)
	must(t, err)
	if diff := cmp.Diff([]bool{true, true, true}, got); diff != "" {
		t.Errorf("an edit and deliveries without a key are new (-want +got):\n%s", diff)
	}
	unknown, err := e.Deliveries.Unknown(t.Context(), "never", "plain1", "hook0", "app100")
	must(t, err)
	for _, id := range []string{"plain1", "app100"} {
		if slices.Contains(unknown, id) {
			t.Errorf("%s was stored and counts as unknown", id)
		}
	}
	if !slices.Contains(unknown, "never") {
		t.Error("an id that was never stored counts as known")
	}
}

// deliveriesOrder works on all orders of up to six deliveries, interleaved with those of
// another thread.
func deliveriesOrder(t *testing.T, e *env) {
	for n := 1; n <= e.orders; n++ {
		for run, order := range permutations(n) {
			name := fmt.Sprintf("octo/hello#%d%03d", n, run)
			var sent []*store.Delivery
			for _, i := range order {
				sent = append(
					sent,
					delivery(fmt.Sprint(name, " ", i), name),
					delivery(fmt.Sprint(name, " other ", i), "octo/other#1"),
				)
			}
			_, err := e.Deliveries.Put(t.Context(), sent...)
			must(t, err)
			if n == 6 && run%10 != 0 {
				continue // reading every order of six takes long
			}
			for _, i := range order {
				d, err := e.Deliveries.Next(t.Context(), name)
				must(t, err)
				if want := fmt.Sprint(name, " ", i); d.ID != want {
					t.Fatalf("order %v: next is %q, want %q", order, d.ID, want)
				}
				must(t, e.Deliveries.Done(t.Context(), "worked", d.ID))
			}
			_, err = e.Deliveries.Next(t.Context(), name)
			want(t, "next of a thread that is done", err, store.ErrNotFound)
		}
	}
}

// deliveriesUrgent looks ahead for urgent deliveries. The order of work stays.
func deliveriesUrgent(t *testing.T, e *env) {
	ctx := t.Context()
	for i, p := range []int{store.PriorityWork, store.PriorityStop, store.PriorityIdle, store.PriorityAnswer,
		store.PriorityStop} {
		d := delivery(fmt.Sprint("d", i), thread)
		d.Priority = p
		_, err := e.Deliveries.Put(ctx, d)
		must(t, err)
	}
	other := delivery("other", "octo/other#1")
	other.Priority = store.PriorityStop
	_, err := e.Deliveries.Put(ctx, other)
	must(t, err)
	urgent := func(priority int, after int64) string {
		t.Helper()
		all, err := e.Wakes.Urgent(ctx, thread, priority, after)
		must(t, err)
		var ids []string
		for _, d := range all {
			ids = append(ids, d.ID)
			if string(d.Payload) != `{"id":"`+d.ID+`"}` || d.Thread != thread || d.Sender != "octocat" {
				t.Errorf("delivery is %+v", d)
			}
		}
		return strings.Join(ids, " ")
	}
	next, err := e.Deliveries.Next(ctx, thread)
	must(t, err)
	if next.ID != "d0" {
		t.Errorf("next is %s, want the oldest", next.ID)
	}
	for _, look := range []struct {
		priority int
		after    int64
		want     string
	}{
		{store.PriorityStop, 0, "d1 d4"}, {store.PriorityAnswer, 0, "d1 d3 d4"}, {store.PriorityIdle, 0, "d0 d1 d2 d3 d4"},
		{store.PriorityStop, next.Seq + 1, "d4"}, {store.PriorityStop, next.Seq + 4, ""},
	} {
		if got := urgent(look.priority, look.after); got != look.want {
			t.Errorf("urgent up to %d after %d: %q, want %q", look.priority, look.after, got, look.want)
		}
	}
	must(t, e.Deliveries.Done(ctx, "", "d1"))
	if got := urgent(store.PriorityStop, 0); got != "d4" {
		t.Errorf("urgent after one is done: %q", got)
	}
}

// deliveriesGroup stores many deliveries at once and reads each of them back unchanged.
func deliveriesGroup(t *testing.T, e *env) {
	const n = 400
	errs := parallel(n, func(i int) error {
		d := delivery(fmt.Sprint("d", i), fmt.Sprint("octo/hello#", i%20))
		d.Key, d.Priority = fmt.Sprint("k", i), 1+i%4
		got, err := e.Deliveries.Put(t.Context(), d)
		if err == nil && !got[0] {
			err = fmt.Errorf("delivery %d is not new", i)
		}
		if err == nil && d.Seq == 0 {
			err = fmt.Errorf("delivery %d has no number", i)
		}
		return err
	})
	for _, err := range errs {
		must(t, err)
	}
	found := 0
	for i := range 20 {
		last := int64(0)
		for {
			d, err := e.Deliveries.Next(t.Context(), fmt.Sprint("octo/hello#", i))
			if err != nil {
				want(t, "next", err, store.ErrNotFound)
				break
			}
			if d.Seq <= last || string(d.Payload) != `{"id":"`+d.ID+`"}` || d.Key != "k"+d.ID[1:] {
				t.Fatalf("delivery after number %d: %+v", last, d)
			}
			last = d.Seq
			found++
			must(t, e.Deliveries.Done(t.Context(), "", d.ID))
		}
	}
	if found != n {
		t.Errorf("found %d deliveries, want %d", found, n)
	}
}

func deliveriesBad(t *testing.T, e *env) {
	for name, d := range map[string]*store.Delivery{
		"nil":            nil,
		"no id":          {Event: "push", Thread: thread},
		"no event":       {ID: "x", Thread: thread},
		"no thread":      {ID: "x", Event: "push"},
		"NUL in thread":  {ID: "x", Event: "push", Thread: "a\x00b"},
		"broken sender":  {ID: "x", Event: "push", Thread: thread, Sender: "\xff"},
		"long key":       {ID: strings.Repeat("x", 1025), Event: "push", Thread: thread},
		"wrong priority": {ID: "x", Event: "push", Thread: thread, Priority: 5},
	} {
		if _, err := e.Deliveries.Put(t.Context(), delivery("good "+name, "octo/hello#9"), d); err == nil {
			t.Errorf("%s: stored", name)
		}
	}
	_, err := e.Deliveries.Next(t.Context(), "octo/hello#9")
	want(t, "a call with a bad delivery stores nothing", err, store.ErrNotFound)
}

func deliveriesPrune(t *testing.T, e *env) {
	_, err := e.Deliveries.Put(t.Context(), delivery("a", thread), delivery("b", thread))
	must(t, err)
	must(t, e.Deliveries.Done(t.Context(), "\xff\x00", "a"))
	e.clock.Add(time.Hour)
	n, err := e.Deliveries.Prune(t.Context(), e.clock.Now())
	must(t, err)
	if n != 1 {
		t.Errorf("pruned %d deliveries, want 1: the one that is done", n)
	}
	d, err := e.Deliveries.Next(t.Context(), thread)
	must(t, err)
	if d.ID != "b" {
		t.Errorf("left is %q, want b", d.ID)
	}
}

// waiting returns the names of the waiting threads.
func (e *env) waiting(t *testing.T) []string {
	t.Helper()
	all, err := e.Wakes.Waiting(t.Context(), 100)
	must(t, err)
	out := []string{}
	for _, w := range all {
		out = append(out, w.Thread)
	}
	return out
}

func (e *env) wantWaiting(t *testing.T, when string, threads ...string) {
	t.Helper()
	if threads == nil {
		threads = []string{}
	}
	if diff := cmp.Diff(threads, e.waiting(t)); diff != "" {
		t.Errorf("%s: waiting (-want +got):\n%s", when, diff)
	}
	oldest, err := e.Wakes.Oldest(t.Context())
	must(t, err)
	if want := e.oldest(t); !oldest.Equal(want) {
		t.Errorf("%s: the oldest work is of %v, want %v", when, oldest, want)
	}
}

// oldest returns the time of the work that has waited longest, by the list of all.
func (e *env) oldest(t *testing.T) (oldest time.Time) {
	t.Helper()
	all, err := e.Wakes.Waiting(t.Context(), 100)
	must(t, err)
	for _, w := range all {
		if oldest.IsZero() || w.Since.Before(oldest) {
			oldest = w.Since
		}
	}
	return oldest
}

func waitingThreads(t *testing.T, e *env) {
	e.wantWaiting(t, "at first")
	_, err := e.Deliveries.Put(t.Context(), delivery("a", thread))
	must(t, err)
	e.wantWaiting(t, "with a delivery", thread)
	select {
	case w := <-e.Wakes.Nudges():
		if w.Thread != thread || w.Sender != "octocat" {
			t.Errorf("nudge is %+v", w)
		}
	default:
		t.Error("no nudge after a delivery")
	}
	l := e.hold(t, thread, "one")
	e.wantWaiting(t, "while it is held")
	e.clock.Add(2 * time.Minute)
	e.wantWaiting(t, "after the lease expired", thread)
	l2 := e.hold(t, thread, "two")
	must(t, e.Deliveries.Done(t.Context(), "", "a"))
	_, err = e.Leases.Release(t.Context(), l, time.Time{})
	if err == nil {
		t.Error("the first holder could release the lease of the second")
	}
	_, err = e.Leases.Release(t.Context(), l2, time.Time{})
	must(t, err)
	e.wantWaiting(t, "at last")

	must(t, e.Sessions.Create(t.Context(), &store.Session{ID: "s1", Thread: "octo/hello#2"}))
	e.hold(t, "s1", "one")
	e.wantWaiting(t, "while a session runs")
	e.clock.Add(2 * time.Minute)
	e.wantWaiting(t, "after the holder of a session died", "octo/hello#2")
	must(t, e.Wakes.Wake(t.Context(), "octo/hello#3", 0, time.Time{}))
	if w := <-e.Wakes.Nudges(); w.Thread != "octo/hello#3" {
		t.Errorf("nudge after a wake is %+v", w)
	}
}

func waitingPriority(t *testing.T, e *env) {
	for i, d := range []struct {
		thread   string
		priority int
	}{{"o/idle#1", store.PriorityIdle}, {"o/work#1", 0}, {"o/answer#1", store.PriorityAnswer}, {"o/work#2", store.PriorityWork}, {"o/work#1", store.PriorityStop}} {
		one := delivery(fmt.Sprint(i), d.thread)
		one.Priority = d.priority
		_, err := e.Deliveries.Put(t.Context(), one)
		must(t, err)
		e.clock.Add(time.Second)
	}
	e.wantWaiting(t, "by priority, then by age", "o/work#1", "o/answer#1", "o/work#2", "o/idle#1")
	for _, bad := range []struct {
		thread   string
		priority int
	}{{"", 1}, {"o/r#1", 9}, {"o/r#1", -1}} {
		if err := e.Wakes.Wake(t.Context(), bad.thread, bad.priority, time.Time{}); err == nil {
			t.Errorf("wake of %+v was accepted", bad)
		}
	}
}

// permutations returns all orders of 0 … n-1.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for i := 0; i <= len(p); i++ {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}
