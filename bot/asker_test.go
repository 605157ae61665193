package bot_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/quota"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// counter counts the requests to GitHub.
type counter struct {
	mu            sync.Mutex
	reads, writes int
	who           map[string]int // lookups of accounts
}

// RoundTrip implements http.RoundTripper.
func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/access_tokens"):
	case r.Method != http.MethodGet:
		c.writes++
	default:
		c.reads++
		if _, rest, ok := strings.Cut(r.URL.Path, "/collaborators/"); ok {
			login, _, _ := strings.Cut(rest, "/")
			c.who[login]++
		}
	}
	c.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// counted has the world's bot count what it asks of GitHub, and change is
// made to its configuration.
func (w *world) counted(change func(*bot.Config)) *counter {
	w.t.Helper()
	c := &counter{who: map[string]int{}}
	app := w.gh.App()
	client, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL(), AppID: app.ID, PrivateKey: app.Key, Spacing: -1, Backoff: time.Millisecond, Transport: c})
	must(w.t, err)
	cfg := bot.Config{
		Store: w.store.Store, GitHub: client, Runner: w, Policy: policy.DefaultConfig(), Model: "m",
		TTL: 10 * time.Minute, Settle: 10 * time.Millisecond, Every: time.Millisecond,
	}
	if change != nil {
		change(&cfg)
	}
	w.bot, err = bot.New(cfg)
	must(w.t, err)
	return c
}

func (w *world) signs() (out []string) {
	for _, c := range w.gh.Thread(w.issue).Comments {
		for _, r := range c.Reactions {
			out = append(out, c.Author+" "+r.Content)
		}
	}
	return out
}

// Whoever has no right in a repository gets one sign in a thread, whatever
// they write and however many they are, and no words; GitHub is asked about
// them a few times a minute and not for each comment.
func TestOutsiders(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	c := w.counted(nil)
	w.gh.AddUser("max", "read")
	began := time.Now()
	for i := range 15 {
		for _, text := range []string{
			"/agent help", "/agent status", "/agent fix it", "/agent approve abc123", "/agent approve", "/agent stop", "/agent --turns many",
			"/agent budget +10", strings.Repeat("/agent help\n", 5000/(1+i*i)), "/agent deny 12", "/agent plan",
		} {
			w.sayAs([]string{"sam", "max"}[i%2], text)
		}
		if i < 2 { // and in between
			must(t, w.work())
		}
	}
	must(t, w.work())
	if len(w.own()) != 0 || len(w.signs()) != 1 || c.writes != 1 {
		t.Errorf("%d writes: signs %q, words %q", c.writes, w.signs(), w.own())
	}
	minutes := 1 + int(time.Since(began)/time.Minute)
	if c.who["sam"] > 5*minutes || c.who["max"] > 5*minutes || c.reads > 12*minutes {
		t.Errorf("%d reads, lookups %v in %d minutes", c.reads, c.who, minutes)
	}
	w.say("/agent status") // others are answered as ever
	must(t, w.work())
	if len(w.own()) != 1 || c.who["kim"] != 1 {
		t.Errorf("kim was looked up %d times and told %q", c.who["kim"], w.own())
	}
}

// In a thread whose session is over, a comment of somebody without rights
// makes the bot write nothing but the one sign.
func TestOutsiderAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.counted(nil)
	w.say("/agent fix it")
	must(t, w.work())
	before, said := c.writes, len(w.own())
	for range 3 {
		w.sayAs("sam", "/agent fix it again")
		must(t, w.work())
	}
	if c.writes != before+1 || len(w.own()) != said || len(w.signs()) != 2 {
		t.Errorf("%d writes for somebody without rights, signs %q", c.writes-before, w.signs())
	}
}

// A bot that is not let in gets nothing at all and is not asked about, and one
// that is let in is answered.
func TestBotsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gh.AddUser("helper[bot]", "write")
	for _, listed := range []bool{false, true} {
		c := w.counted(func(cfg *bot.Config) {
			if listed {
				cfg.Policy.Approvals.Bots = []int64{w.gh.UserID("helper[bot]")}
			}
		})
		for range 3 {
			w.sayAs("helper[bot]", "/agent help\n\n/agent status")
			must(t, w.work())
		}
		if want := map[bool]int{true: 3}[listed]; c.writes != want || (c.reads > 0) != listed {
			t.Errorf("let in: %t; %d reads and %d writes, want %d writes", listed, c.reads, c.writes, want)
		}
	}
}

// One comment gets one reply and one sign of each kind, whatever it holds.
func TestOneReply(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, tt := range map[string]struct {
		text      string
		words     []string
		most      int // writes
		lookups   int
		noSession bool
	}{
		"5,000 lines of help": {strings.Repeat("/agent help\n", 5000), []string{"first 50 commands", "4950 more", "deny <id>"}, 1, 1, true},
		"of many kinds":       {strings.Repeat("/agent help\n/agent status\n/agent stop\n/agent approve 3fa9c1\n/agent retry\n", 9), []string{"deny <id>", "no session", "nothing to stop", "Nothing is waiting"}, 1, 1, true},
		"wrong":               {strings.Repeat("/agent budget much\n/agent approve\n", 900), []string{"without other words"}, 1, 1, true},
		"wishes":              {strings.Repeat("/agent also this\n", 200), []string{"first 50 commands"}, 9, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.counted(nil)
			w.say(tt.text)
			must(t, w.work())
			replies := 0
			for _, body := range w.own() {
				if strings.Contains(body, "handrail:reply-") {
					replies++
				}
			}
			if replies != 1 || c.writes > tt.most || c.who["kim"] > tt.lookups || len(w.signs()) > 1 {
				t.Errorf("%d replies, %d writes, %d lookups, signs %q: %q", replies, c.writes, c.who["kim"], w.signs(), w.own())
			}
			for _, words := range tt.words {
				if w.count(words) != 1 {
					t.Errorf("%q is said %d times in %q", words, w.count(words), w.own())
				}
			}
		})
	}
}

// quotas are those of package quota, as the server has them.
type quotas struct{ *quota.Requests }

func request(a bot.Asker) quota.Request {
	return quota.Request{Sender: a.Sender, Thread: a.Thread, Repository: a.Repository, Installation: fmt.Sprint(a.Installation), Urgent: a.Urgent}
}

func (q quotas) Wait(now time.Time, a bot.Asker) time.Duration {
	return q.Requests.Wait(now, request(a))
}
func (q quotas) Take(now time.Time, a bot.Asker) { q.Requests.Take(now, request(a)) }

// What somebody asks beyond a quota waits and is done when there is room; it
// is said once. What others ask in the thread, and a stop of their own, does
// not wait behind it.
func TestOverAQuota(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	w.gh.AddUser("ada", "write")
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	c := w.counted(func(cfg *bot.Config) {
		cfg.Quotas, cfg.Now = quotas{quota.NewRequests(quota.Hourly{Sender: 10})}, clock
	})
	for range 20 {
		w.say("/agent status")
	}
	w.sayAs("ada", "/agent status")
	w.say("/agent stop")
	err := w.work()
	var later interface{ Until() time.Time }
	if !errors.As(err, &later) || later.Until().After(now.Add(5*time.Second)) {
		t.Fatalf("the work ends with %v", err)
	}
	if got := w.count("no session in this thread"); got != 9 || w.count("nothing to stop") != 1 || w.count("is not lost") != 1 {
		t.Errorf("%d answers of 8 and 1, %q", got, w.own())
	}
	before := c.writes
	_ = w.work()
	if c.writes != before {
		t.Errorf("%d writes while it waits", c.writes-before)
	}
	for range 3 {
		mu.Lock()
		now = now.Add(time.Hour)
		mu.Unlock()
		_ = w.work()
	}
	if got := w.count("no session in this thread"); got != 21 {
		t.Errorf("%d answers in the end, want 21", got)
	}
	if _, err := w.store.Deliveries.Next(t.Context(), w.issue.Key()); err == nil {
		t.Error("something still waits")
	}
}

// What waits during a run is taken later, and the run goes on.
func TestOverAQuotaDuringARun(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	w.counted(func(cfg *bot.Config) { cfg.Quotas = quotas{quota.NewRequests(quota.Hourly{Sender: 2})} })
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		for range 4 {
			w.say("/agent status")
		}
		if err := work.Inbox(ctx); err != nil {
			return session.Outcome{}, err
		}
		return finish("It is done.")(ctx, work)
	}
	w.say("/agent fix it")
	_ = w.work()
	row, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
	must(t, err)
	if row.State != session.PhaseDone || w.count("; the progress comment stays up to date") != 1 {
		t.Errorf("the row says %q, the bot %q", row.State, w.own())
	}
	if _, err := w.store.Deliveries.Next(t.Context(), w.issue.Key()); err != nil {
		t.Errorf("what waited is gone: %v", err)
	}
}

// Bots that are not let in and people without rights who write on and on are
// not even stored.
func TestIntake(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	w.counted(nil)
	payload := func(who, kind string) []byte {
		return fmt.Appendf(nil, `{"action":"created","sender":{"login":%q,"id":%d,"type":%q},"installation":{"id":%d},"repository":{"id":1,"full_name":"acme/widget"},
			"issue":{"number":%d},"comment":{"id":1,"body":"/agent help","user":{"login":%q,"id":%d,"type":%q}}}`, who, w.gh.UserID(who), kind, w.inst, w.issue.Number, who, w.gh.UserID(who), kind)
	}
	wanted := func(body []byte) bool {
		_, ok, err := w.bot.Source(t.Context(), "issue_comment", body)
		must(t, err)
		return ok
	}
	if wanted(payload("ci", "Bot")) {
		t.Error("the words of a bot are stored")
	}
	if !wanted(payload("sam", "User")) || !wanted(payload("kim", "User")) {
		t.Error("somebody whom nobody knows yet is not heard")
	}
	for range 6 {
		w.sayAs("sam", "/agent help")
		w.say("/agent help")
	}
	must(t, w.work())
	if wanted(payload("sam", "User")) || !wanted(payload("kim", "User")) {
		t.Error("a flood of somebody without rights is stored, or somebody with rights is not heard")
	}
	_, ok, err := w.bot.Source(t.Context(), "pull_request", fmt.Appendf(nil, `{"action":"synchronize","sender":{"login":"ci","id":7,"type":"Bot"},"repository":{"id":1,"full_name":"acme/widget"},
		"pull_request":{"number":9,"head":{"ref":"handrail-review-7-abc123","repo":{"id":1,"full_name":"acme/widget"}},"base":{"ref":"x","repo":{"id":1}}}}`))
	if err != nil || !ok {
		t.Errorf("a push of a bot into a pull request of ours is not looked at: %v", err)
	}
}
