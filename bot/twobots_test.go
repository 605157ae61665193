package bot_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/quota"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// company is a thread in which another account answers every comment but its own.
type company struct {
	*world
	now   time.Time
	other string // "" for nobody yet
	kind  string // of the account, as GitHub says
	reply func(n int, to string) string

	heard, replies int
	words          []int // how many comments of ours there were after each round
}

// round delivers what is new, has the other account answer it and the bot
// work, and lets five seconds pass.
func (c *company) round() {
	c.t.Helper()
	comments := c.gh.Thread(c.issue).Comments
	for _, cm := range comments[c.heard:] {
		c.deliver(cm.ID, cm.Author, cm.Body)
		if c.other != "" && cm.Author != c.other {
			_, err := c.gh.Comment(c.issue, c.other, c.reply(c.replies, cm.Body))
			must(c.t, err)
			c.replies++
		}
	}
	c.heard = len(comments)
	var later interface{ Until() time.Time }
	if err := c.work(); err != nil && !errors.As(err, &later) {
		c.t.Fatal(err)
	}
	ours := 0
	for _, cm := range c.gh.Thread(c.issue).Comments {
		if cm.Author == "kim" && strings.Contains(cm.Body, "<!-- handrail:") {
			ours++
		}
	}
	c.words = append(c.words, ours)
	c.now = c.now.Add(5 * time.Second)
}

func (c *company) deliver(id int64, author, text string) {
	c.t.Helper()
	kind := "User"
	if author == c.other {
		kind = c.kind
	}
	who := fmt.Sprintf(`{"login":%q,"id":%d,"type":%q}`, author, c.gh.UserID(author), kind)
	body, err := json.Marshal(text)
	must(c.t, err)
	payload := c.payload("issue_comment", "created", "sender="+who, "comment.user="+who, "comment.body="+string(body), fmt.Sprintf("comment.id=%d", id))
	src, ok, err := c.bot.Source(c.t.Context(), "issue_comment", payload)
	must(c.t, err)
	if ok {
		_, err = c.store.Deliveries.Put(c.t.Context(), &store.Delivery{ID: fmt.Sprint("d", id), Event: "issue_comment", Key: src.Key,
			Thread: src.Thread, Sender: src.Sender, Priority: src.Priority, Payload: payload})
		must(c.t, err)
	}
}

// Two bots in one thread come to rest. Ours has a person's token and hears
// itself as that person; the other one answers each comment with a command.
// Who is not let in gets no word, and who is gets no more than a quota has room for.
func TestTwoBots(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	commands := []string{"/agent help", "/agent status", "/agent fix it again", "/agent approve abc123", "/agent budget much", "/agent plan more"}
	oneOf := func(n int, _ string) string { return "Thank you!\n\n" + commands[n%len(commands)] }
	echo := func(n int, to string) string { return to + "\n\n" + commands[n%len(commands)] }
	most, rounds := 20, 44 // requests of one account in an hour, and rounds of five seconds
	if longtest.Long() {
		most, rounds = 60, 120 // as cmd/config has it, for ten minutes
	}
	for name, tt := range map[string]struct {
		other, kind string
		listed      bool
		reply       func(int, string) string
		most        int // comments of ours beyond those for kim's own command
	}{
		"not let in":             {"helper[bot]", "Bot", false, oneOf, 0},
		"not let in, an echo":    {"helper[bot]", "Bot", false, echo, 0},
		"without rights":         {"reader", "User", false, oneOf, 0},
		"let in":                 {"helper[bot]", "Bot", true, oneOf, most},
		"let in, an echo":        {"helper[bot]", "Bot", true, echo, most},
		"an account with rights": {"writer", "User", false, oneOf, most},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for login, right := range map[string]string{"helper[bot]": "write", "writer": "write", "reader": "read"} {
				w.gh.AddUser(login, right)
			}
			token, err := w.gh.Token("kim")
			must(t, err)
			c := &company{world: w, now: time.Now().Truncate(time.Hour), kind: tt.kind, reply: tt.reply}
			clock := func() time.Time { return c.now }
			w.bot = w.listens(ghapp.Config{Token: token, Own: ownKey(t, "one"), Clock: clock, Backoff: time.Millisecond}, func(cfg *bot.Config) {
				cfg.Quotas, cfg.Now = quotas{quota.NewRequests(quota.Hourly{Sender: most})}, clock
				cfg.TTL, cfg.Settle, cfg.Every = 10*time.Minute, time.Millisecond, time.Millisecond
				if tt.listed {
					cfg.Policy.Approvals.Bots = []int64{w.gh.UserID(tt.other)}
				}
			})
			_, err = w.gh.Comment(w.issue, "kim", "/agent fix it")
			must(t, err)
			c.round()
			c.other, c.heard = tt.other, 0
			for range rounds {
				c.round()
			}
			alone, half, all := c.words[0], c.words[rounds/2], c.words[rounds]
			t.Logf("comments of ours: %d, then %d after half of the time and %d in the end; %d of %s", alone, half, all, c.replies, tt.other)
			if alone == 0 || c.replies == 0 || all > half || all-alone > tt.most || (all > alone) != (tt.most > 0) {
				t.Errorf("%d comments of ours for %s, want at most %d and none in the second half", all-alone, tt.other, tt.most)
			}
		})
	}
}
