package ghapp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/quota"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// heldWrites holds writes back until goOn is closed.
type heldWrites struct {
	http.RoundTripper
	begun, goOn chan struct{}
}

func (h *heldWrites) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/comments") {
		select {
		case h.begun <- struct{}{}:
		default:
		}
		<-h.goOn
	}
	return h.RoundTripper.RoundTrip(r)
}

// Of writes that wait, those that matter more are sent first. An edit of
// progress does not wait when there is little left, and a request for approval
// still gets out.
func TestWritesInTurn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	sends := heldWrites{begun: make(chan struct{}, 1), goOn: make(chan struct{})}
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) {
		ac.Spacing = time.Millisecond
		ac.Limits = quota.Limits{PerHour: 20, Alone: true}
		sends.RoundTripper, ac.Transport = ac.Transport, &sends
	})
	var all sync.WaitGroup
	var first ghapp.Ref
	all.Go(func() {
		var err error
		if first, err = w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"}); err != nil {
			t.Error(err)
		}
	})
	<-sends.begun
	for _, wr := range []ghapp.Write{
		{Key: "c-sign", Kind: ghapp.WriteComment, Outsider: true}, {Key: "b-work", Kind: ghapp.WriteComment}, {Key: "a-ask", Kind: ghapp.WriteComment, First: true},
	} {
		wr.Thread, wr.Body = w.issue, "x"
		all.Go(func() {
			if _, err := w.client.Perform(ctx, wr); err != nil {
				t.Error(err)
			}
		})
	}
	for ghapp.Queued(w.app) < 3 {
		<-time.After(time.Millisecond)
	}
	close(sends.goOn)
	all.Wait()
	var order []string
	for _, c := range w.gh.Thread(w.issue).Comments[1:] {
		_, key, _ := strings.Cut(c.Body, "handrail:")
		order = append(order, key)
	}
	if !slices.IsSorted(order) || len(order) != 3 {
		t.Errorf("written in the order %q", order)
	}
	for i := range 12 { // 16 of 20 are used then
		if _, err := w.client.Perform(ctx, ghapp.Write{Key: fmt.Sprint("k", i), Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	edit := ghapp.Write{Key: "k", Kind: ghapp.WriteEditComment, Thread: w.issue, Target: ghapp.Target{Comment: first.ID}, Body: "y"}
	for name, tt := range map[string]struct {
		wr   ghapp.Write
		sent bool
	}{
		"progress": {edit, false},
		"work":     {ghapp.Write{Key: "w", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"}, false},
		"approval": {ghapp.Write{Key: "a", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x", First: true}, true},
	} {
		_, err := w.client.Perform(ctx, tt.wr)
		var e *ghapp.Error
		if (err == nil) != tt.sent || !tt.sent && (!errors.As(err, &e) || e.Kind != ghapp.Temporary || e.RetryAfter < 50*time.Minute) {
			t.Errorf("%s: %v, sent is wanted: %t", name, err, tt.sent)
		}
	}
}

// Writes that came while there was budget for one of them do not wait for more of it
// when that one is sent: who wants them holds a thread up.
func TestWritesAreGivenBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) {
		ac.Spacing = 100 * time.Millisecond
		ac.Limits = quota.Limits{PerHour: 40, Alone: true}
	})
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = w.client.Perform(ctx, ghapp.Write{Key: fmt.Sprint("sign-", i), Kind: ghapp.WriteComment, Thread: w.issue, Body: "x", Outsider: true})
		})
	}
	all.Wait()
	sent := 0
	for _, err := range errs {
		var e *ghapp.Error
		switch {
		case err == nil:
			sent++
		case !errors.As(err, &e) || e.Kind != ghapp.Temporary || e.RetryAfter < time.Minute:
			t.Errorf("given back with %v", err)
		}
	}
	if sent != 2 { // a twentieth of 40
		t.Errorf("%d of %d were sent", sent, len(errs))
	}
}

// An account without rights is looked up five times a minute, and very many
// of them have to wait; whoever was found to have rights does not.
func TestLookups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var mu sync.Mutex
	now := time.Now()
	asked := map[string]int{}
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) {
		ac.Lookups = 20
		ac.Clock = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	look := func(login string, wait time.Duration) (policy.Actor, error) {
		mu.Lock()
		now = now.Add(wait)
		asked[login]++
		mu.Unlock()
		return w.client.Sender(ctx, login)
	}
	w.gh.AddUser("boss", "admin")
	w.gh.AddUser("late", "")
	if a, err := look("boss", 0); err != nil || a.Permission != "admin" {
		t.Fatalf("%+v, %v", a, err)
	}
	for range 5 {
		if a, err := look("late", 0); err != nil || policy.Insider(a) {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if !w.app.Flooding("ACME/widget", "LATE") || w.app.Flooding("acme/other", "late") || w.app.Flooding("acme/widget", "boss") {
		t.Error("who floods is not told apart")
	}
	w.gh.AddUser("late", "write")
	if a, err := look("late", 0); err != nil || policy.Insider(a) {
		t.Errorf("looked up a sixth time in a minute: %+v, %v", a, err)
	}
	if a, err := look("late", time.Minute); err != nil || !policy.Insider(a) {
		t.Errorf("not looked up a minute later: %+v, %v", a, err)
	}
	held := 0
	for i := range 40 {
		w.gh.AddUser(fmt.Sprint("nobody", i), "")
		if _, err := look(fmt.Sprint("nobody", i), 0); errors.Is(err, ghapp.ErrLookups) {
			held++
		}
	}
	if held < 20 {
		t.Errorf("%d of 40 accounts without rights had to wait", held)
	}
	for _, login := range []string{"boss", "late"} {
		if a, err := look(login, 0); err != nil || !policy.Insider(a) {
			t.Errorf("%s was not looked up: %+v, %v", login, a, err)
		}
	}
	w.gh.AddUser("new", "write")
	var e *ghapp.Error
	if _, err := look("new", 0); !errors.As(err, &e) || e.RetryAfter <= 0 || e.Kind != ghapp.Temporary {
		t.Errorf("somebody new: %v", err)
	}
	if a, err := look("new", time.Hour); err != nil || !policy.Insider(a) {
		t.Errorf("an hour later: %+v, %v", a, err)
	}
}

// What was written is counted by the next process, too.
func TestSpentIsKept(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	limit := func(_ *ghtest.Config, ac *ghapp.Config) { ac.Limits.PerHour = 3 }
	w, next := newWorld(t, limit), newWorld(t, limit)
	for i := range 3 {
		if _, err := w.client.Perform(ctx, ghapp.Write{Key: fmt.Sprint("k", i), Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	spent, err := w.app.Spent()
	if err != nil {
		t.Fatal(err)
	}
	if err := next.app.CountSpent(spent); err != nil {
		t.Fatal(err)
	}
	var e *ghapp.Error
	if _, err := next.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: next.issue, Body: "x"}); !errors.As(err, &e) || e.RetryAfter < 50*time.Minute {
		t.Errorf("written after a restart: %v", err)
	}
	if err := next.app.CountSpent([]byte("[]")); err == nil {
		t.Error("something else was read")
	}
}
