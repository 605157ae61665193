package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/thread"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a GitHub with one repository, and a bot behind a router.
type world struct {
	t     *testing.T
	gh    *ghcheck.Server
	app   *ghapp.App
	store store.Store
	inst  int64

	mu     sync.Mutex
	asked  []string // requests to GitHub, "METHOD PATH"
	taken  []string // what the intake was shown
	broken string   // an event that the intake fails at
}

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.asked = append(w.asked, r.Method+" "+r.URL.Path)
	w.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// requests returns how many requests with this part there were since the last call.
func (w *world) requests(part string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.asked {
		if strings.Contains(r, part) {
			n++
		}
	}
	w.asked = nil
	return n
}

func newWorld(t *testing.T, token bool) *world {
	t.Helper()
	w := &world{t: t}
	var err error
	w.gh, err = ghcheck.New(ghtest.Config{Dir: t.TempDir(), WebhookURL: "http://127.0.0.1:1/"})
	must(t, err)
	must(t, w.gh.Start())
	t.Cleanup(func() {
		must(t, w.gh.Close())
		for _, v := range w.gh.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
	w.gh.AddUser("kim", "write")
	w.inst, err = w.gh.AddRepo("team", "app", ghtest.Source{Files: map[string]string{"a.txt": "a\n"}})
	must(t, err)
	cfg := ghapp.Config{APIURL: w.gh.URL(), Spacing: -1, Backoff: time.Millisecond, Transport: w}
	if token {
		cfg.Token, err = w.gh.Token("kim")
		must(t, err)
	} else {
		cfg.AppID, cfg.PrivateKey = w.gh.App().ID, w.gh.App().Key
	}
	w.app, err = ghapp.New(cfg)
	must(t, err)
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "bot.db")})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	w.store = db.Store
	return w
}

// poller is what polls after a start of the bot. Its intake takes what holds "/agent".
func (w *world) poller() *poller {
	return newPoller(PollConfig{
		GitHub: w.app, Store: w.store, Log: slog.New(slog.DiscardHandler), Every: time.Minute,
		Hears: func(event string) bool { return event != "push" },
		Source: func(_ context.Context, event string, payload []byte) (store.Delivery, bool, error) {
			ev, err := ghapp.ParseEvent(event, payload)
			if err != nil {
				return store.Delivery{}, false, fmt.Errorf("%w: %w", store.ErrUnparsable, err)
			}
			said := ev.Comment.Body + ev.Review.Body
			if ev.Comment.ID+ev.Review.ID == 0 {
				said = ev.Body
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.taken = append(w.taken, ev.Kind+" "+ev.Action+" "+said)
			if w.broken != "" && strings.Contains(said, w.broken) {
				return store.Delivery{}, false, errors.New("no")
			}
			key := fmt.Sprintf("%s-%s-%d-%d-%d-%s", ev.Kind, ev.Action, ev.Thread.Number, ev.Comment.ID, ev.Review.ID, ev.Comment.Updated.UTC().Format(time.RFC3339))
			return store.Delivery{Thread: ev.Thread.Key(), Key: key}, strings.Contains(said, "/agent"), nil
		},
	})
}

// stored returns what was taken in and not worked on, oldest first.
func (w *world) stored(at thread.Ref) (out []string) {
	w.t.Helper()
	for {
		d, err := w.store.Deliveries.Next(w.t.Context(), at.Key())
		if errors.Is(err, store.ErrNotFound) {
			return out
		}
		must(w.t, err)
		ev, err := ghapp.ParseEvent(d.Event, d.Payload)
		must(w.t, err)
		out = append(out, ev.Comment.Body+ev.Review.Body)
		must(w.t, w.store.Deliveries.Done(w.t.Context(), "", d.ID))
	}
}

func (w *world) comment(at thread.Ref, text string) ghtest.Comment {
	w.t.Helper()
	cm, err := w.gh.Comment(at, "kim", text)
	must(w.t, err)
	must(w.t, w.gh.Flush(w.t.Context()))
	return cm
}

func (w *world) open() thread.Ref {
	w.t.Helper()
	at, err := w.gh.OpenIssue("team/app", "kim", "It breaks", "")
	must(w.t, err)
	must(w.t, w.gh.Flush(w.t.Context()))
	return at
}

func (w *world) poll(p *poller) {
	w.t.Helper()
	must(w.t, p.poll(w.t.Context()))
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestDeliveries: what GitHub could not bring is taken in once, whatever the intake makes
// of it, over many pages and over restarts.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	at := w.open()
	w.comment(at, "/agent before the bot was there")
	p := w.poller()
	w.poll(p)
	same(t, w.stored(at), "/agent before the bot was there")
	for i := range 120 {
		w.comment(at, fmt.Sprint("thanks ", i))
	}
	w.comment(at, "/agent after two pages")
	w.requests("")
	w.poll(p)
	same(t, w.stored(at), "/agent after two pages")
	if n := w.requests("deliveries/"); n != 121 {
		t.Errorf("%d deliveries read, there are 121 new ones", n)
	}
	w.poll(p)
	if n := w.requests("deliveries/"); n != 0 {
		t.Errorf("%d deliveries read again, which nobody needed", n)
	}
	p = w.poller()
	w.comment(at, "/agent after a restart")
	w.poll(p)
	w.poll(w.poller())
	same(t, w.stored(at), "/agent after a restart")
}

// TestBothWays: what the webhook brings as well is worked on once, and what somebody took
// before the first poll is not for this bot.
func TestBothWays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	at := w.open()
	w.gh.SetWebhook(answering(t, http.StatusOK))
	w.comment(at, "/agent which another server had")
	p := w.poller()
	w.poll(p)
	same(t, w.stored(at))
	w.comment(at, "/agent to an address that answers anything")
	w.poll(p)
	w.poll(w.poller())
	same(t, w.stored(at), "/agent to an address that answers anything")

	w.comment(at, "/agent by both ways")
	all := w.gh.Deliveries()
	last := all[len(all)-1]
	d, _, err := w.poller().Source(t.Context(), last.Event, last.Payload)
	must(t, err)
	d.ID, d.Event, d.Payload = last.GUID, last.Event, last.Payload
	_, err = w.store.Deliveries.Put(t.Context(), &d)
	must(t, err)
	w.poll(p)
	same(t, w.stored(at), "/agent by both ways")
	_, err = w.gh.Redeliver(t.Context(), last.ID)
	must(t, err)
	w.poll(p)
	w.poll(w.poller())
	same(t, w.stored(at))
}

// answering is an address that gives one answer to everything.
func answering(t *testing.T, status int) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestOneThatFails: a delivery that the intake cannot take now holds up no other one, and
// is tried again until it can. One that cannot be read is left out.
func TestOneThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	at := w.open()
	p := w.poller()
	w.poll(p)
	w.broken = "bad day"
	w.comment(at, "/agent on a bad day")
	w.comment(at, "/agent on a good day")
	_, err := w.gh.Deliver(t.Context(), "issue_comment", []byte(`{"action":"created","comment":{"id":"x"}}`))
	must(t, err)
	if err := p.poll(t.Context()); err == nil {
		t.Error("the failure is not told")
	}
	same(t, w.stored(at), "/agent on a good day")
	w.broken = ""
	w.poll(w.poller())
	same(t, w.stored(at), "/agent on a bad day")
}

// TestAway: while GitHub does not answer, nothing is lost.
func TestAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	at := w.open()
	p := w.poller()
	w.poll(p)
	w.comment(at, "/agent meanwhile")
	w.gh.SetFaults(ghcheck.Faults{BadGateway: 1, Match: func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/deliveries/") }})
	if err := p.poll(t.Context()); err == nil {
		t.Error("the failure is not told")
	}
	w.gh.SetFaults(ghcheck.Faults{})
	w.poll(p)
	same(t, w.stored(at), "/agent meanwhile")
}

// TestPause: a poller waits longer from failure to failure, and as long as GitHub asks.
func TestPause(t *testing.T) {
	p := newPoller(PollConfig{Every: 30 * time.Second})
	limited := &ghapp.Error{Kind: ghapp.Temporary, RetryAfter: 40 * time.Minute, Err: errors.New("rate limit")}
	for _, c := range []struct {
		err      error
		failures int
		want     time.Duration
	}{
		{nil, 0, 30 * time.Second},
		{errors.New("away"), 1, time.Minute},
		{errors.New("away"), 2, 2 * time.Minute},
		{errors.New("away"), 99, 5 * time.Minute},
		{fmt.Errorf("list: %w", limited), 1, 40 * time.Minute},
	} {
		if got := p.pause(c.err, c.failures); got != c.want {
			t.Errorf("after %d failures and %v it waits %v, not %v", c.failures, c.err, got, c.want)
		}
	}
	if got := newPoller(PollConfig{Every: time.Hour}).pause(errors.New("away"), 3); got != time.Hour {
		t.Errorf("it waits %v and not the hour that it was told to", got)
	}
}

// TestRun: a poller polls until it is told to stop, also when a poll fails.
func TestRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	at := w.open()
	p, ended, got := w.poller(), make(chan struct{}), make(chan string, 9)
	source := p.Source
	p.Source = func(ctx context.Context, event string, payload []byte) (store.Delivery, bool, error) {
		got <- event
		return source(ctx, event, payload)
	}
	p.Every = time.Millisecond
	var requests atomic.Int64
	w.gh.SetFaults(ghcheck.Faults{BadGateway: 1, Match: func(*http.Request) bool { return requests.Add(1) <= 8 }}) // two polls
	w.comment(at, "/agent at last")
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		p.run(ctx)
	}()
	for {
		select {
		case event := <-got:
			if event == "issue_comment" {
				stop()
				<-ended
				return
			}
		case <-time.After(10 * time.Minute):
			t.Fatal("nothing comes")
		}
	}
}
