package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// orders is one GitHub, one database and one bot with the real engine, in
// which every trial has a thread of its own. Model and tool are small.
type orders struct {
	t    *testing.T
	gh   *ghcheck.Server
	bot  *bot.Bot
	db   store.Store
	inst int64
	now  time.Time
	*trial
}

// trial is one thread, and what the judge knows of it.
type trial struct {
	r        *rand.Rand
	ref      thread.Ref
	may      map[string]bool // who may approve at this moment
	said     map[int64]*word // comments that stand as they were written
	heard    [][]byte        // deliveries, for replays
	asked    map[string]*posed
	killIn   int // writes until the process dies, 0 for never
	away     bool
	executed int
	refused  int
	wrong    []string
	step     []string
}

// word is a comment that says yes to a request.
type word struct{ who, id string }

// posed is a request.
type posed struct {
	session.Asked
	used bool
	dead string // the word that ended it
}

const ordersRepo = "acme/orders"

var errOrdersKilled = errors.New("killed")

func newOrders(t *testing.T) *orders {
	t.Helper()
	o := &orders{t: t, now: time.Now()}
	var err error
	o.gh, err = ghcheck.New(ghtest.Config{Dir: t.TempDir()})
	must(t, err)
	must(t, o.gh.Start())
	t.Cleanup(func() { must(t, o.gh.Close()) })
	for _, who := range []string{"kim", "sam", "mallory"} {
		o.gh.AddUser(who, "write")
	}
	o.inst, err = o.gh.AddRepo("acme", "orders", ghtest.Source{Files: map[string]string{"a.txt": "a\n"}})
	must(t, err)
	must(t, o.gh.Grant(ordersRepo, "mallory", "read"))
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "bot.db")})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	o.db = db.Store
	return o
}

// start is a new server: it may write to GitHub as much as a person would
// wait an hour for.
func (o *orders) start() {
	mortal := o.db
	mortal.Logs = mortalLogs{mortal.Logs, o}
	app := o.gh.App()
	own, err := secret.DeriveKey("the webhook's", "own words")
	must(o.t, err)
	client, err := ghapp.New(ghapp.Config{Own: own, APIURL: o.gh.URL(), AppID: app.ID, PrivateKey: app.Key, Spacing: -1, Backoff: time.Microsecond,
		Transport: o})
	must(o.t, err)
	o.bot, err = bot.New(bot.Config{Store: mortal, GitHub: client, Runner: o, Policy: policy.DefaultConfig(), Model: "m", TTL: time.Second,
		Settle: time.Microsecond, Every: time.Hour, Now: func() time.Time { return o.now }})
	must(o.t, err)
}

// RoundTrip implements http.RoundTripper: sometimes GitHub does not tell who
// may do what.
func (o *orders) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.away && (strings.Contains(r.URL.Path, "/collaborators/") || strings.Contains(r.URL.Path, "/git/ref/")) {
		return nil, errors.New("connection refused")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// mortalLogs dies at a write, before or after it is stored.
type mortalLogs struct {
	store.Logs
	o *orders
}

func (m mortalLogs) die(write func() error) error {
	if m.o.killIn--; m.o.killIn != 0 {
		return write()
	}
	m.o.note("dies")
	if m.o.r.IntN(2) == 0 {
		return errOrdersKilled
	}
	return errors.Join(write(), errOrdersKilled)
}

func (m mortalLogs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	return m.die(func() error {
		if err := m.Logs.Apply(ctx, f, c); err != nil {
			return err
		}
		m.o.saw(c.Events)
		return nil
	})
}

func (m mortalLogs) Log(f store.Fence) session.Log { return mortalLog{m.Logs.Log(f), m} }

type mortalLog struct {
	session.Log
	m mortalLogs
}

func (l mortalLog) Append(ctx context.Context, events ...*session.Event) error {
	return l.m.die(func() error {
		if err := l.Log.Append(ctx, events...); err != nil {
			return err
		}
		l.m.o.saw(events)
		return nil
	})
}

// saw notes what people are asked. A push to the base makes no request stale.
func (o *orders) saw(events []*session.Event) {
	for _, e := range events {
		switch e.Type {
		case session.TypeAsked:
			a, _ := session.Decode[session.Asked](*e)
			o.asked[a.ID] = &posed{Asked: a}
		case session.TypeResolved:
			if r, _ := session.Decode[session.Resolved](*e); o.asked[r.ID] != nil && r.Verdict != "approved" {
				o.asked[r.ID].dead = string(r.Verdict)
				if r.Verdict == "stale" && strings.Contains(r.Reason, "base") {
					o.wrong = append(o.wrong, fmt.Sprintf("%s is stale, because %s", r.ID, r.Reason))
				}
			}
		case session.TypeResult:
			res, _ := session.Decode[session.Result](*e)
			if res.OK {
				o.executed++
				for _, q := range o.asked {
					q.used = q.used || q.Call == res.Call
				}
			} else {
				o.refused++
			}
		}
	}
}

func (t *trial) note(format string, args ...any) {
	t.step = append(t.step, fmt.Sprintf(format, args...))
}

// StartPoint implements bot.Runner.
func (o *orders) StartPoint(context.Context, live.Thread) (bot.StartPoint, error) {
	return bot.StartPoint{Base: o.gh.Branch(ordersRepo, "main"), Target: "main"}, nil
}

// Run implements bot.Runner with the real engine.
func (o *orders) Run(ctx context.Context, w bot.Work) (session.Outcome, error) {
	rules, err := policy.New(policy.DefaultConfig())
	if err != nil {
		return session.Outcome{}, err
	}
	a, err := agent.New(agent.Config{Model: removing{}, Policy: rules, Tools: []tools.Tool{remover{o}}, Checkpoints: nothing{},
		Inbox: w.Inbox, OnEvent: w.OnEvent, Approvals: agent.Approvals{ApprovalFacts: w.ApprovalFacts, Confirm: w.Confirm}, Now: func() time.Time { return o.now },
		Limits: agent.Limits{Deadline: time.Hour}})
	if err != nil {
		return session.Outcome{}, err
	}
	return a.Run(ctx, w.Task, w.Log)
}

// removing is a model that removes two things in each answer.
type removing struct{}

func (removing) Name() string { return "m" }
func (removing) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities{Tools: true, ContextLength: 32768}, nil
}
func (removing) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	n := len(req.Messages)
	call := func(what string) llm.ToolCall {
		return llm.ToolCall{Name: "run_terminal_command", Arguments: json.RawMessage(fmt.Sprintf(`{"command":"rm -rf %s%d"}`, what, n))}
	}
	return func(yield func(llm.Part, error) bool) {
		if n > 8 {
			yield(llm.Part{Content: "Done. [TASK_COMPLETE]", Done: true, DoneReason: "stop"}, nil)
			return
		}
		yield(llm.Part{Calls: []llm.ToolCall{call("a"), call("b")}, Done: true, DoneReason: "tool_calls"}, nil)
	}
}

// nothing saves no state: there are no files.
type nothing struct{}

func (nothing) Save(context.Context, int, bool) (agent.Saved, error) { return agent.Saved{}, nil }
func (nothing) Publish(context.Context, agent.Publication) (session.Checkpoint, error) {
	return session.Checkpoint{}, nil
}
func (nothing) Diff(context.Context, string, string, []string) (string, error) { return "", nil }
func (nothing) Moved() bool                                                    { return false }
func (nothing) Revert(context.Context, string, []string) error                 { return nil }

// remover is the only tool.
type remover struct{ o *orders }

func (remover) Spec() tools.Spec {
	spec := llm.ToolSpec{Name: "run_terminal_command", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}
	return tools.Spec{ToolSpec: spec, Kind: policy.Execute}
}
func (remover) Intent(_ context.Context, c session.Call) (policy.Action, error) {
	var in struct{ Command string }
	err := json.Unmarshal(c.Arguments, &in)
	return policy.Action{Kind: policy.Execute, Command: in.Command, Cwd: ".", Display: in.Command}, err
}
func (m remover) Run(ctx context.Context, c session.Call, _ tools.Progress) (tools.Result, error) {
	act, err := m.Intent(ctx, c)
	m.o.note("runs %s", act.Command)
	m.o.judge(c.ID, act.Command)
	return tools.Result{Content: "ok"}, err
}

// judge is asked where something really runs: somebody who may, at this
// moment, has a comment there that says yes to exactly this, and nobody said no.
func (o *orders) judge(call, command string) {
	var why []string
	ok := false
	for id, q := range o.asked {
		if q.Call != call {
			continue
		}
		yes := false
		for _, w := range o.said {
			yes = yes || w.id == id && o.may[w.who]
		}
		good := yes && q.dead == "" && q.Display == command && !q.used
		why = append(why, fmt.Sprintf("%s %q yes %t, used %t, %s", id, q.Display, yes, q.used, q.dead))
		ok = ok || good
	}
	if !ok {
		o.wrong = append(o.wrong, fmt.Sprintf("%s %q ran without a yes: %v", call, command, why))
	}
}

// say writes a comment, and its delivery arrives; now and then twice.
func (o *orders) say(who, body string) int64 {
	o.note("%s: %s", who, body)
	c, err := o.gh.Comment(o.ref, who, body)
	must(o.t, err)
	payload, err := json.Marshal(map[string]any{
		"action": "created", "installation": map[string]any{"id": o.inst},
		"sender":     map[string]any{"login": who, "id": o.gh.UserID(who), "type": "User"},
		"repository": map[string]any{"id": 1, "name": "orders", "full_name": ordersRepo, "owner": map[string]any{"login": "acme"}, "default_branch": "main"},
		"issue":      map[string]any{"number": o.ref.Number, "title": "A fault", "body": "It is broken."},
		"comment":    map[string]any{"id": c.ID, "body": body, "user": map[string]any{"login": who, "id": o.gh.UserID(who)}, "updated_at": c.Updated.UTC().Format(time.RFC3339)},
	})
	must(o.t, err)
	o.heard = append(o.heard, payload)
	o.arrive(payload, o.r.IntN(4) == 0)
	return c.ID
}

// arrive stores a delivery as the webhook does. A second one of the same words
// has another id, and for the test even another key.
func (o *orders) arrive(payload []byte, twice bool) {
	src, ok, err := o.bot.Source(o.t.Context(), "issue_comment", payload)
	must(o.t, err)
	if !ok {
		return // of somebody without rights who writes on and on
	}
	for range 1 + map[bool]int{true: 1}[twice] {
		_, err = o.db.Deliveries.Put(o.t.Context(), &store.Delivery{ID: session.NewID(), Event: "issue_comment", Key: src.Key + map[bool]string{true: session.NewID()}[twice],
			Thread: src.Thread, Sender: src.Sender, Priority: src.Priority, Payload: payload})
		must(o.t, err)
	}
}

// answer has people answer what is open, and sometimes what is not.
func (o *orders) answer() {
	for _, id := range slices.Sorted(maps.Keys(o.asked)) {
		q := o.asked[id]
		if (q.used || q.dead != "") && o.r.IntN(5) > 0 || o.r.IntN(8) == 0 {
			continue
		}
		who := []string{"kim", "sam", "kim", "sam", "kim", "sam", "kim", "sam", "mallory"}[o.r.IntN(9)]
		if o.r.IntN(12) == 0 {
			o.say(who, "/agent deny "+id)
			continue
		}
		o.said[o.say(who, "/agent approve "+id)] = &word{who, id}
		if o.r.IntN(12) == 0 {
			o.disturb()
		}
	}
}

// disturb changes something.
func (o *orders) disturb() {
	switch what := o.r.IntN(9); what {
	case 0:
		_, err := o.gh.Push(ordersRepo, "main", "sam", map[string]string{"a.txt": fmt.Sprint(o.r.Uint64())})
		must(o.t, err)
		o.note("main moves")
	case 1, 2:
		who := []string{"kim", "sam"}[what-1]
		o.may[who] = !o.may[who]
		must(o.t, o.gh.Grant(ordersRepo, who, map[bool]string{true: "write", false: "read"}[o.may[who]]))
		o.note("%s may: %t", who, o.may[who])
	case 3, 4:
		for _, id := range slices.Sorted(maps.Keys(o.said)) {
			w := o.said[id]
			if o.r.IntN(2) == 0 {
				continue
			}
			if what == 3 {
				must(o.t, o.gh.EditComment(o.ref, id, w.who, "on second thought, no"))
			} else {
				must(o.t, o.gh.DeleteComment(o.ref, id, w.who))
			}
			delete(o.said, id)
			o.note("comment %d is changed", id)
		}
	case 5:
		o.say("kim", "/agent do something else as well")
	case 6:
		o.now = o.now.Add(time.Duration(o.r.IntN(70)) * time.Minute)
		o.note("time passes")
	case 7:
		if len(o.heard) > 0 {
			o.arrive(o.heard[o.r.IntN(len(o.heard))], true)
			o.note("an old delivery comes again")
		}
	case 8:
		o.away = !o.away
		o.note("GitHub is away: %t", o.away)
	}
}

// work lets a process work on the thread, which may die.
func (o *orders) work() {
	o.killIn = 0
	if o.r.IntN(3) == 0 {
		o.killIn = 1 + o.r.IntN(8)
	}
	o.note("works")
	err := o.bot.Work(o.t.Context(), o.ref.Key())
	if err != nil && !errors.Is(err, errOrdersKilled) && !o.away && !fault.Temporary(err) {
		o.t.Fatalf("work: %v\n%s", err, strings.Join(o.step, "\n"))
	}
}

// Hundreds of random orders against the whole bot, with the real engine and a
// GitHub: see agent.TestApprovalInterleavings for ten thousand of the engine.
func TestApprovalInterleavings(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	if raceDetector {
		t.Skip("the race detector makes this last minutes; agent.TestApprovalInterleavings runs under it")
	}
	o := newOrders(t)
	trials := form(30, 200)
	executed, refused, wrong := 0, 0, 0
	for seed := range uint64(trials) {
		o.trial = &trial{r: rand.New(rand.NewPCG(seed, 2)), may: map[string]bool{"kim": true, "sam": true}, said: map[int64]*word{}, asked: map[string]*posed{}}
		o.now = time.Now()
		for _, who := range []string{"kim", "sam"} {
			must(t, o.gh.Grant(ordersRepo, who, "write"))
		}
		if seed%10 == 0 {
			o.start()
		}
		var err error
		o.ref, err = o.gh.OpenIssue(ordersRepo, "kim", "A fault", "It is broken.")
		must(t, err)
		o.say("kim", "/agent fix it")
		o.work()
		for range 3 {
			o.answer()
			if o.r.IntN(2) == 0 {
				o.disturb()
			}
			o.work()
			o.away = false
		}
		executed, refused = executed+o.executed, refused+o.refused
		if len(o.wrong) > 0 {
			if wrong++; wrong <= 3 {
				t.Errorf("seed %d: %s\n%s", seed, strings.Join(o.wrong, "\n"), strings.Join(o.step, "\n"))
			}
		}
	}
	t.Logf("interleavings: %d, executed %d, refused %d, wrong %d", trials, executed, refused, wrong)
	if executed < trials/8 {
		t.Errorf("only %d actions ran: the interleavings show nothing", executed)
	}
}
