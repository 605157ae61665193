package bot_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/postgres"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/bot/webhook"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var allOrders = flag.Bool("orders.all", false, "run every order of up to six deliveries, on both databases")

const hookSecret = "orders"

// orders is what one run of TestOrders is made of: machines over one
// database, and what they worked on.
type orders struct {
	t      *testing.T
	hooks  []http.Handler
	mu     sync.Mutex
	got    map[string][]string // by thread, the comments in the order of the work
	failed map[string]bool
	done   chan struct{}
	posts  int
	again  int
}

// TestOrders sends all orders of up to six comments of one thread, each
// comment as the App's delivery, as its redelivery, and as the delivery of a
// repository hook, to a machine over SQLite, and in the long form to two
// machines over PostgreSQL, whose work fails now and then. Each comment is worked on once, in the order of arrival.
func TestOrders(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	path := filepath.Join(t.TempDir(), "bot.db")
	t.Run("sqlite", func(t *testing.T) {
		testOrders(t, 1, func() (*sqlstore.Store, error) { return sqlite.Open(t.Context(), sqlite.Config{Path: path}) })
	})
	if !*allOrders {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		url := storetest.StartPostgres(t, false).Database(t)
		testOrders(t, 2, func() (*sqlstore.Store, error) { return postgres.Open(t.Context(), postgres.Config{URL: url}) })
	})
}

func testOrders(t *testing.T, machines int, open func() (*sqlstore.Store, error)) {
	o := &orders{t: t, got: map[string][]string{}, failed: map[string]bool{}, done: make(chan struct{}, 1<<16)}
	for range machines {
		s, err := open()
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		o.machine(s)
	}
	want, comments := map[string][]string{}, 0
	var senders sync.WaitGroup
	room := make(chan struct{}, 24)
	for n := 1; n <= 6; n++ {
		for i, order := range permuted(n) {
			if !*allOrders && n > 4 && i%24 != 0 {
				continue
			}
			number := n*1000 + i
			thread := fmt.Sprint("acme/widget#", number)
			for _, c := range order {
				want[thread] = append(want[thread], fmt.Sprint(number*10+c))
			}
			comments += n
			room <- struct{}{}
			senders.Go(func() {
				o.send(number, order)
				<-room
			})
		}
	}
	senders.Wait()
	late := time.After(10 * time.Minute)
	for range comments {
		select {
		case <-o.done:
		case <-late:
			t.Fatal("comments are not worked on")
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	lost, twice, moved := 0, 0, 0
	for thread, list := range want {
		got := o.got[thread]
		lost += max(0, len(list)-len(got))
		twice += max(0, len(got)-len(list))
		if !slices.Equal(got, list) {
			moved++
			t.Errorf("%s: worked on %v, want %v", thread, got, list)
		}
	}
	t.Logf("orders: %d orders, %d comments in %d deliveries, %d failures on the way; lost %d, twice %d, out of order %d",
		len(want), comments, o.posts, o.again, lost, twice, moved)
}

// machine takes deliveries in and works on threads.
func (o *orders) machine(s *sqlstore.Store) {
	hook, err := webhook.New(webhook.Config{Secret: []byte(hookSecret), Intake: s.Deliveries, Parse: bot.Source})
	must(o.t, err)
	o.hooks = append(o.hooks, hook)
	q, err := queue.New(queue.Config{
		Store: s.Store, River: s.River, Backoff: func(int) time.Duration { return time.Millisecond }, Sweep: 100 * time.Millisecond,
		Work: func(ctx context.Context, thread string) error { return o.work(ctx, s, thread) },
	})
	must(o.t, err)
	must(o.t, q.Start(o.t.Context()))
	o.t.Cleanup(func() { must(o.t, q.Drain(context.WithoutCancel(o.t.Context()))) })
}

// work records the comments of a thread. Every fifth one fails at first.
func (o *orders) work(ctx context.Context, s *sqlstore.Store, thread string) error {
	for {
		d, err := s.Deliveries.Next(ctx, thread)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		var comment int64
		if _, err := fmt.Sscanf(d.Key, "comment-%d-", &comment); err != nil {
			return err
		}
		id := fmt.Sprint(comment)
		o.mu.Lock()
		fail := comment%5 == 0 && !o.failed[id]
		if fail {
			o.failed[id] = true
			o.again++
		}
		o.mu.Unlock()
		if fail {
			return errors.New("no luck")
		}
		if err := s.Deliveries.Done(ctx, "", d.ID); err != nil {
			return err
		}
		o.mu.Lock()
		o.got[thread] = append(o.got[thread], id)
		o.mu.Unlock()
		o.done <- struct{}{}
	}
}

// send posts the comments of a thread in an order, with duplicates among
// them: each once more under its own id, and once under another.
func (o *orders) send(number int, order []int) {
	for at, c := range order {
		id := number*10 + c
		o.post(number, id, fmt.Sprint("app-", id))
		o.post(number, order[(at*7+3)%(at+1)]+number*10, fmt.Sprint("hook-", order[(at*7+3)%(at+1)]+number*10))
		o.post(number, id, fmt.Sprint("app-", id))
	}
	for _, c := range order {
		o.post(number, number*10+c, fmt.Sprint("hook-", number*10+c))
	}
}

// post delivers a comment to one of the machines.
func (o *orders) post(number, comment int, delivery string) {
	body := fmt.Appendf(nil, `{"action":"created","sender":{"login":"kim","id":7,"type":"User"},"installation":{"id":1},
		"repository":{"id":1,"name":"widget","full_name":"acme/widget","owner":{"login":"acme"}},"issue":{"number":%d,"title":"t"},
		"comment":{"id":%d,"body":"/agent do it","user":{"login":"kim","id":7},"updated_at":"2026-03-04T05:06:07Z"}}`, number, comment)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write(body)
	r := httptest.NewRequestWithContext(o.t.Context(), http.MethodPost, "/webhook", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "issue_comment")
	r.Header.Set("X-GitHub-Delivery", delivery)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	o.mu.Lock()
	o.posts++
	hook := o.hooks[o.posts%len(o.hooks)]
	o.mu.Unlock()
	hook.ServeHTTP(w, r)
	if w.Code != http.StatusAccepted {
		o.t.Errorf("delivery %s is answered with %d: %s", delivery, w.Code, w.Body)
	}
}

// TestBotOrders has the bot itself meet six kinds of comments in all orders,
// in a thread each, stored twice under two ids. Each is answered once, by a
// comment or by a sign on it, and no session is left open.
func TestBotOrders(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	kinds := []string{"/agent fix it", "/agent also this", "/agent status", "/agent stop", "/agent help", "/agent approve nosuch"}
	runs, comments := 0, 0
	for n := 1; n <= len(kinds); n++ {
		for i, order := range permuted(n) {
			if !*allOrders && n > 3 && i%60 != 0 {
				continue
			}
			var err error
			w.issue, err = w.gh.OpenIssue("acme/widget", "kim", fmt.Sprint("Order ", order), "It is broken.")
			must(t, err)
			w.bot = w.with(w.store.Store) // one would come to the end of what GitHub lets it do in an hour
			w.gh.SetRateLimit(5000, time.Now().Add(time.Hour))
			for at, c := range order {
				w.say(kinds[c])
				if at%2 == i%2 { // some wait together, some are worked on one by one
					must(t, w.work())
				}
			}
			must(t, w.work())
			runs, comments = runs+1, comments+n
			answers := w.count("handrail:reply-")
			for _, c := range w.gh.Thread(w.issue).Comments {
				if c.Author != w.gh.App().Login {
					answers += len(c.Reactions)
				}
			}
			if answers != n || w.leftOpen() {
				t.Errorf("order %v: %d answers to %d comments, the bot wrote %q", order, answers, n, w.own())
			}
		}
	}
	t.Logf("orders: %d orders of %d comments against the bot, each answered once", runs, comments)
}

// leftOpen says whether the thread's session, or the comment that follows it,
// is said to go on. An answer to a question for the status may say so: it
// tells of its own time.
func (w *world) leftOpen() bool {
	row, err := w.store.Sessions.ByThread(w.t.Context(), w.issue.Key())
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	must(w.t, err)
	open := row.State == session.PhaseRunning || row.State == session.PhaseQueued
	for _, body := range w.own() {
		following := strings.Contains(body, "handrail:progress-")
		open = open || following && (strings.Contains(body, "**running**") || strings.Contains(body, "**queued**"))
	}
	return open
}

// permuted returns all orders of 0 … n-1.
func permuted(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var out [][]int
	for _, p := range permuted(n - 1) {
		for i := range n {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}
