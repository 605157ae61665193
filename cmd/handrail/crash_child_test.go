package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy/secret"
)

// childConfig is what a test tells the server process that it will kill.
type childConfig struct {
	Listen, Data, Database, API, Secret, Model string

	AppID  int64
	Key    []byte
	KillAt int64         // the process kills itself before this step; 0 for never
	KillOn string        // likewise at a step of this name, such as "after apply"
	Trace  string        // file that gets the name of the step it died at
	Steps  string        // directory where commands tell how far they are, "" for none
	TTL    time.Duration // of leases
	Record string        // where strace records the calls of the server, "" for nowhere

	Workspace string          // "local" when empty
	Sessions  config.Sessions // how many run at the same time
	Quotas    config.Quotas   // GitHub's own limits are not measured
}

// crashChild is the server as a process of its own: `handrail serve` with
// short leases, which counts its steps and can kill itself at one.
func crashChild() int {
	text, err := os.ReadFile(os.Args[1])
	var c childConfig
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := c.serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return exitDone
}

func (c childConfig) serve(ctx context.Context) error {
	k := &killer{at: c.KillAt, on: c.KillOn, trace: c.Trace}
	if c.Steps != "" {
		if err := k.hear(c.Steps); err != nil {
			return err
		}
	}
	w := &console{in: strings.NewReader(""), out: io.Discard, err: os.Stderr, log: logger(os.Stderr, "warn"), version: "test"}
	s, err := newServer(ctx, w, config.Server{
		Listen: c.Listen, Data: c.Data, Database: c.Database, Workspace: cmp.Or(c.Workspace, "local"),
		Sessions: c.Sessions, Quotas: c.Quotas,
		GitHub: config.GitHub{API: c.API, AppID: c.AppID, Key: c.Key, WebhookSecret: secret.Value(c.Secret)},
		Model:  config.Model{Name: "m", Ollama: c.Model},
	}, serverOptions{
		unlimited: true, spacing: -1, settle: 100 * time.Millisecond, every: 200 * time.Millisecond, ttl: c.TTL, again: 30 * time.Millisecond,
		sweep: 250 * time.Millisecond, missed: 1500 * time.Millisecond, // most searches find nothing
		transport: killTransport{k, http.DefaultTransport}, wrap: k.wrap,
	})
	if err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	fmt.Println("ready") // the parent waits for the line
	<-ctx.Done()
	err = s.close(context.WithoutCancel(ctx))
	fmt.Printf("steps %d\n", k.n.Load())
	return err
}

// killer counts steps and kills the process at one of them.
type killer struct {
	n     atomic.Int64
	at    int64
	on    string
	trace string
	kinds string // file with kinds of steps that processes died at; each kind kills one
	late  time.Duration
}

// lateness is the variable with the longest delay of a step, such as 300ms. `make late` sets it: the
// servers of stories are late at each step, and so are their users, so that effects come in any order
// that no condition forces. Without it nothing is late.
const lateness = "HANDRAIL_TEST_LATE"

// late returns a killer that kills nothing, and is late as the environment says; nil if it is not.
func late() *killer {
	most, err := time.ParseDuration(os.Getenv(lateness))
	if err != nil || most <= 0 {
		return nil
	}
	return &killer{late: most}
}

// delay pauses, half of the times.
func (k *killer) delay() {
	if k != nil && k.late > 0 && rand.IntN(2) == 0 {
		pause(rand.N(k.late))
	}
}

// numbers are what differs in the names of steps of one kind.
var numbers = regexp.MustCompile(`\d+`)

// fresh reports whether no process died at such a step before, and notes it.
func (k *killer) fresh(name string) bool {
	kind := numbers.ReplaceAllString(name, "N") + "\n"
	died, _ := os.ReadFile(k.kinds)
	if strings.Contains("\n"+string(died), "\n"+kind) {
		return false
	}
	return os.WriteFile(k.kinds, append(died, kind...), 0o600) == nil
}

func (k *killer) step(name string) {
	if k.late > 0 {
		k.delay()
		return
	}
	if k.kinds != "" {
		if k.fresh(name) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return
	}
	if n := k.n.Add(1); n != k.at && (k.on == "" || !strings.Contains(name, k.on)) {
		return
	}
	_ = os.WriteFile(k.trace, []byte(name), 0o600)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// around runs f, and then there is a step: what comes between two writes to
// the store changes nothing that a restart could see.
func (k *killer) around(name string, f func() error) error {
	err := f()
	k.step("after " + name)
	return err
}

type killTransport struct {
	k    *killer
	next http.RoundTripper
}

func (t killTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		t.k.delay()
		return t.next.RoundTrip(r)
	}
	// Before a call of the API nothing has changed since the step before it.
	// Before git's, there are commits in the mirror.
	if strings.Contains(r.URL.Path, "/git-") {
		t.k.step("before " + r.Method + " " + r.URL.Path)
	}
	defer t.k.step("after " + r.Method + " " + r.URL.Path)
	return t.next.RoundTrip(r)
}

func (k *killer) wrap(s store.Store) store.Store {
	s.Logs = killLogs{s.Logs, k}
	s.Intents = killIntents{s.Intents, k}
	s.Sessions = killSessions{s.Sessions, k}
	s.Deliveries = killDeliveries{s.Deliveries, k}
	s.Leases = killLeases{s.Leases, k}
	return s
}

type killLogs struct {
	store.Logs
	k *killer
}

func (l killLogs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	return l.k.around("apply", func() error { return l.Logs.Apply(ctx, f, c) })
}

func (l killLogs) Log(f store.Fence) session.Log { return killLog{l.Logs.Log(f), l.k} }

type killLog struct {
	session.Log
	k *killer
}

func (l killLog) Append(ctx context.Context, events ...*session.Event) error {
	name := "append"
	for _, e := range events {
		name += " " + string(e.Type)
	}
	return l.k.around(name, func() error { return l.Log.Append(ctx, events...) })
}

type killIntents struct {
	store.Intents
	k *killer
}

func (i killIntents) Intend(ctx context.Context, f store.Fence, in *store.Intent) error {
	return i.k.around("intend "+in.Kind, func() error { return i.Intents.Intend(ctx, f, in) })
}

func (i killIntents) Attempted(ctx context.Context, f store.Fence, key string, at time.Time) (in store.Intent, err error) {
	err = i.k.around("attempt", func() error {
		in, err = i.Intents.Attempted(ctx, f, key, at)
		return err
	})
	return in, err
}

func (i killIntents) Done(ctx context.Context, f store.Fence, key, ref string) error {
	return i.k.around("done intent", func() error { return i.Intents.Done(ctx, f, key, ref) })
}

type killSessions struct {
	store.Sessions
	k *killer
}

func (s killSessions) Create(ctx context.Context, row *store.Session) error {
	return s.k.around("create session", func() error { return s.Sessions.Create(ctx, row) })
}

func (s killSessions) Update(ctx context.Context, f store.Fence, row *store.Session) error {
	return s.k.around("update session", func() error { return s.Sessions.Update(ctx, f, row) })
}

type killDeliveries struct {
	store.Deliveries
	k *killer
}

func (d killDeliveries) Put(ctx context.Context, all ...*store.Delivery) (stored []bool, err error) {
	err = d.k.around("put", func() error {
		stored, err = d.Deliveries.Put(ctx, all...)
		return err
	})
	return stored, err
}

func (d killDeliveries) Done(ctx context.Context, note string, ids ...string) error {
	return d.k.around("done delivery", func() error { return d.Deliveries.Done(ctx, note, ids...) })
}

type killLeases struct {
	store.Leases
	k *killer
}

func (l killLeases) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (got store.Lease, err error) {
	err = l.k.around("acquire", func() error {
		got, err = l.Leases.Acquire(ctx, key, owner, ttl)
		return err
	})
	return got, err
}

func (l killLeases) Release(ctx context.Context, held store.Lease, backoff time.Time) (released bool, err error) {
	err = l.k.around("release", func() error {
		released, err = l.Leases.Release(ctx, held, backoff)
		return err
	})
	return released, err
}
