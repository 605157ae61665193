package bot_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ci"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/bot/trigger"
	"github.com/handrail-bot/handrail/bot/watch"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// world is a GitHub, a database, and a bot whose sessions do what run says.
type world struct {
	t     *testing.T
	gh    *ghcheck.Server
	store *sqlstore.Store
	bot   *bot.Bot
	issue thread.Ref
	inst  int64
	run   func(ctx context.Context, w bot.Work) (session.Outcome, error)
	n     int
}

// watchers are those of a server.
var watchers = []watch.Watcher{ci.Watcher(), schedule.Watcher(), trigger.Watcher()}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, run: finish("It is done.")}
	var err error
	w.gh, err = ghcheck.New(ghtest.Config{Dir: t.TempDir()})
	must(t, err)
	must(t, w.gh.Start())
	t.Cleanup(func() { must(t, w.gh.Close()) })
	w.gh.AddUser("kim", "write")
	w.gh.AddUser("sam", "read")
	w.inst, err = w.gh.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{"a.txt": "a\n"}})
	must(t, err)
	w.issue, err = w.gh.OpenIssue("acme/widget", "kim", "A fault", "It is broken.")
	must(t, err)
	w.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "bot.db")})
	must(t, err)
	t.Cleanup(func() { must(t, w.store.Close()) })
	app := w.gh.App()
	client, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL(), AppID: app.ID, PrivateKey: app.Key, Spacing: -1, Backoff: time.Millisecond})
	must(t, err)
	w.bot, err = bot.New(bot.Config{
		Store: w.store.Store, GitHub: client, Runner: w, Watchers: watchers, Policy: policy.DefaultConfig(), Model: "m",
		TTL: 10 * time.Minute, Settle: 10 * time.Millisecond, Every: time.Millisecond,
	})
	must(t, err)
	return w
}

// StartPoint implements bot.Runner.
func (w *world) StartPoint(context.Context, live.Thread) (bot.StartPoint, error) {
	return bot.StartPoint{Base: w.gh.Branch("acme/widget", "main"), Target: "main"}, nil
}

// Run implements bot.Runner.
func (w *world) Run(ctx context.Context, work bot.Work) (session.Outcome, error) {
	return w.run(ctx, work)
}

// finish is a run that ends at once.
func finish(summary string) func(context.Context, bot.Work) (session.Outcome, error) {
	return func(ctx context.Context, w bot.Work) (session.Outcome, error) {
		out := session.Outcome{Status: session.StatusDone, Summary: summary}
		return out, w.Log.Append(ctx, session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: out}))
	}
}

// say writes a comment and stores its delivery, as the webhook would.
func (w *world) say(body string) {
	w.t.Helper()
	w.sayAs("kim", body)
}

func (w *world) sayAs(who, body string) {
	w.t.Helper()
	w.arrives(who, w.writes(who, body))
}

// writes writes a comment. Nobody tells the bot.
func (w *world) writes(who, body string) ghtest.Comment {
	w.t.Helper()
	c, err := w.gh.Comment(w.issue, who, body)
	must(w.t, err)
	return c
}

// arrives stores the delivery of a comment, as the webhook would.
func (w *world) arrives(who string, c ghtest.Comment) {
	w.t.Helper()
	body := c.Body
	w.n++
	kind := map[bool]string{true: "Bot", false: "User"}[strings.HasSuffix(who, "[bot]")]
	payload := fmt.Sprintf(`{"action":"created","sender":{"login":%q,"id":%d,"type":%q},"installation":{"id":%d},
		"repository":{"id":1,"name":%q,"full_name":%q,"owner":{"login":"acme"},"default_branch":"main"},
		"issue":{"number":%d,"title":"A fault","body":"It is broken."},
		"comment":{"id":%d,"body":%q,"user":{"login":%q,"id":%d,"type":%q},"updated_at":%q}}`,
		who, w.gh.UserID(who), kind, w.inst, w.issue.Repo, w.issue.Repository(), w.issue.Number, c.ID, body, who, w.gh.UserID(who), kind, c.Updated.UTC().Format(time.RFC3339))
	src, ok, err := bot.Source(w.t.Context(), "issue_comment", []byte(payload))
	if err != nil || !ok {
		w.t.Fatalf("the delivery is not wanted: %v", err)
	}
	for _, id := range []string{"app", "hook", "app"} { // an App and a repository hook, and one of them once more
		_, err = w.store.Deliveries.Put(w.t.Context(), &store.Delivery{
			ID: fmt.Sprint(id, w.n), Event: "issue_comment", Key: src.Key, Thread: src.Thread, Sender: src.Sender, Priority: src.Priority, Payload: []byte(payload),
		})
		must(w.t, err)
	}
}

func (w *world) work() error { return w.bot.Work(w.t.Context(), w.issue.Key()) }

// own returns the bot's comments.
func (w *world) own() []string {
	var out []string
	for _, c := range w.gh.Thread(w.issue).Comments {
		if c.Author == w.gh.App().Login {
			out = append(out, c.Body)
		}
	}
	return out
}

func (w *world) count(words string) int {
	n := 0
	for _, body := range w.own() {
		n += strings.Count(body, words)
	}
	return n
}

// TestStrangeIntents: answering in a thread without a session leaves alone
// what other threads intend.
func TestStrangeIntents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.store.Intents.Intend(t.Context(), store.Fence{}, &store.Intent{
		Key: "reply-other", Kind: "comment", Payload: []byte(`{"key":"reply-other","kind":"comment","thread":{"Owner":"acme","Repo":"other","Number":7}}`),
	}))
	w.say("/agent status")
	must(t, w.work())
	open, err := w.store.Intents.Open(t.Context(), "")
	must(t, err)
	if len(open) != 1 || open[0].State != store.Intended {
		t.Errorf("the intent of the other thread is %+v", open)
	}
	if len(w.own()) != 1 {
		t.Errorf("the bot wrote %q", w.own())
	}
}

// TestOpenedTwice: a session row without a log, left by a process that was
// killed in between, comes to life with its delivery.
func TestOpenedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := errors.New("killed")
	s := w.store.Store
	s.Logs = failingLogs{s.Logs, stop}
	w.bot = w.with(s)
	w.say("/agent fix it")
	if err := w.work(); !errors.Is(err, stop) {
		t.Fatalf("the work ends with %v", err)
	}
	w.bot = w.with(w.store.Store)
	must(t, w.work())
	if w.count("✅ **done**") == 0 || w.count("handrail:progress-") != 1 {
		t.Errorf("the bot wrote %q", w.own())
	}
	row, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	events, err := w.store.Logs.Log(store.Fence{Key: row.ID}).Events(t.Context(), 0)
	must(t, err)
	if len(events) == 0 || events[0].Type != session.TypeOpened {
		t.Errorf("the log begins with %+v", events)
	}
}

// failingLogs refuses what would open a session.
type failingLogs struct {
	store.Logs
	err error
}

func (f failingLogs) Apply(context.Context, store.Fence, store.Change) error { return f.err }

// with is another bot over a store.
func (w *world) with(s store.Store) *bot.Bot {
	w.t.Helper()
	b, err := bot.New(bot.Config{
		Store: s, GitHub: w.client(), Runner: w, Watchers: watchers, Policy: policy.DefaultConfig(), Model: "m",
		TTL: 10 * time.Minute, Settle: 10 * time.Millisecond, Every: time.Millisecond,
	})
	must(w.t, err)
	return b
}

// client is the bot's access to the GitHub.
func (w *world) client() *ghapp.App {
	w.t.Helper()
	app := w.gh.App()
	client, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL(), AppID: app.ID, PrivateKey: app.Key, Spacing: -1, Backoff: time.Millisecond})
	must(w.t, err)
	return client
}

// TestAnotherMode: who asks a session at work for something in another mode is heard by
// that session, in that mode; the comments name it.
func TestAnotherMode(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	runs := 0
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		if runs++; runs == 1 {
			w.say("/agent plan something else")
			if err := work.Inbox(ctx); err != nil {
				return session.Outcome{}, err
			}
		}
		return finish("The plan is made.")(ctx, work)
	}
	w.say("/agent fix it")
	must(t, w.work())
	if runs != 1 || w.count("handrail:progress-") != 1 || w.count("**done** · plan mode") != 1 || w.count("in its place") != 0 {
		t.Errorf("%d runs, the bot wrote %q", runs, w.own())
	}
	w.say("/agent and now fix it")
	must(t, w.work())
	if runs != 2 || w.count("handrail:progress-") != 2 || w.count("**done** · plan mode") != 1 {
		t.Errorf("%d runs, the bot wrote %q", runs, w.own())
	}
}

// TestWordsToWork: who may only ask says nothing to a session at work that changes files,
// and is answered by it afterwards. Another model works on the session that there is.
func TestWordsToWork(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	w.gh.AddUser("tri", "triage")
	var ran []string
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		if len(ran) == 0 {
			w.sayAs("tri", "/agent ask what are you at?")
			if err := work.Inbox(ctx); err != nil {
				return session.Outcome{}, err
			}
		}
		events, err := work.Log.Events(ctx, 0)
		must(t, err)
		v, err := session.Fold(events)
		must(t, err)
		ran = append(ran, v.ModeName()+" "+v.ModelName())
		return finish("It is mended.")(ctx, work)
	}
	w.say("/agent fix it")
	must(t, w.work())
	if w.count("it needs write permission on this repository to ask for changes") != 1 {
		t.Errorf("the bot wrote %q", w.own())
	}
	w.sayAs("tri", "/agent ask what did you do?")
	must(t, w.work())
	w.sayAs("tri", "/agent and mend the rest")
	w.say("/agent --model big mend the rest")
	must(t, w.work())
	if want := []string{"code m", "ask m", "code big"}; !slices.Equal(ran, want) || w.count("handrail:progress-") != 3 {
		t.Errorf("ran %q, want %q; the bot wrote %q", ran, want, w.own())
	}
}

// TestStopInInbox: a stop that the inbox takes ends the run.
func TestStopInInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	runs := 0
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		runs++
		w.say("/agent stop")
		if err := work.Inbox(ctx); err != nil {
			return session.Outcome{}, err
		}
		return finish("It went on.")(ctx, work)
	}
	w.say("/agent fix it")
	must(t, w.work())
	if runs != 1 || w.count("**stopped**") != 1 || w.count("It went on.") != 0 {
		t.Errorf("%d runs, the bot wrote %q", runs, w.own())
	}
}

// TestStopBehindOthers: a stop ends a run at once although an ordinary
// comment, and the stop of somebody who may not say so, wait before it. All
// are worked on in their order.
func TestStopBehindOthers(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	runs := 0
	w.run = func(ctx context.Context, _ bot.Work) (session.Outcome, error) {
		runs++
		w.say("/agent also look at the tests")
		w.sayAs("sam", "/agent stop")
		w.say("Enough.\n\n/agent status\n/agent stop")
		<-ctx.Done() // a long command, or a long answer of the model
		return session.Outcome{}, context.Cause(ctx)
	}
	w.say("/agent fix it")
	must(t, w.work())
	if runs != 1 || w.count("**stopped**") == 0 || w.count("kim stopped this") == 0 || w.count("I did not start") != 0 {
		t.Errorf("%d runs, the bot wrote %q", runs, w.own())
	}
	row, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	events, err := w.store.Logs.Log(store.Fence{Key: row.ID}).Events(t.Context(), 0)
	must(t, err)
	var order []session.Type
	for _, e := range events {
		order = append(order, e.Type)
	}
	want := []session.Type{session.TypeOpened, session.TypeMessage, session.TypeEnded}
	if !slices.Equal(order, want) || row.State != session.PhaseStopped {
		t.Errorf("the log is %v, want %v; the row says %q", order, want, row.State)
	}
}

// TestStatusDuringARun: an answer that nobody edits later says of what time it
// speaks.
func TestStatusDuringARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		w.say("/agent status")
		if err := work.Inbox(ctx); err != nil {
			return session.Outcome{}, err
		}
		return finish("It is done.")(ctx, work)
	}
	w.say("/agent fix it")
	must(t, w.work())
	for _, body := range w.own() {
		if strings.Contains(body, "**running**") && !strings.HasPrefix(body, "Status at 2") {
			t.Errorf("left at running: %q", body)
		}
	}
	if w.count("**running**") != 1 {
		t.Errorf("the bot wrote %q", w.own())
	}
}

// TestFailingRun: a failure that may pass is tried again, and told when it
// does not pass.
func TestFailingRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	runs := 0
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		runs++
		must(t, work.Log.Append(ctx, session.NewEvent(session.TypeStarted, 0, session.Started{Call: "c1-1", Title: "Running it"})))
		return session.Outcome{}, errors.New("the disk makes a noise")
	}
	w.say("/agent fix it")
	var err error
	for range 9 {
		if err = w.work(); err == nil {
			break
		}
	}
	if err != nil || runs != 5 || w.count("❌ **failed**") == 0 || w.count("the disk makes a noise") == 0 {
		t.Errorf("%d runs, %v, the bot wrote %q", runs, err, w.own())
	}
	row, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	if row.State != session.PhaseFailed {
		t.Errorf("the row says %q", row.State)
	}
}

// TestToldAtOnce: what only a person can mend, as a configuration that nobody can read,
// is told after the first try.
func TestToldAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	runs := 0
	w.run = func(context.Context, bot.Work) (session.Outcome, error) {
		runs++
		return session.Outcome{}, fault.UserError{Text: "the key is not known"}
	}
	w.say("/agent fix it")
	if err := w.work(); err != nil || runs != 1 || w.count("I could not go on: the key is not known.") != 1 {
		t.Errorf("%d runs, %v, the bot wrote %q", runs, err, w.own())
	}
}
