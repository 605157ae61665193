package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var (
	hostileDeliveries = flag.Int("hostile.deliveries", 300, "hostile deliveries beside 20 honest sessions")
	hostileOff        = flag.Bool("hostile.off", false, "only the sessions, at the same pace, to compare with")
)

// tally counts what the server sends to GitHub.
type tally struct {
	mu              sync.Mutex
	writes, lookups int
}

// RoundTrip implements http.RoundTripper.
func (c *tally) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	switch {
	case strings.Contains(r.URL.Path, "/collaborators/"):
		c.lookups++
	case r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/repos/") && !strings.Contains(r.URL.Path, ".git/"):
		c.writes++
	}
	c.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// TestHostileDeliveries: strangers, bots, unsigned, repeated, edited and very
// long comments in many threads cost one sign in a thread and a few lookups,
// and twenty people with rights are answered beside them. The long form, which
// looks at the clock too, is `make hostile`.
func TestHostileDeliveries(t *testing.T) {
	longtest.Leave(t)
	const honest, hostileThreads, strangers = 20, 10, 5
	s := newStory(t, greeting, "- {say: \"It greets. [TASK_COMPLETE]\", repeat: true}\n")
	count := &tally{}
	s.restart(func(o *serverOptions) { o.transport = count })
	for i := range strangers {
		s.gh.AddUser(fmt.Sprint("stranger", i), "read")
	}
	var threads []thread.Ref
	var bait []int64 // a stranger's comment in each thread
	for i := range honest + hostileThreads {
		ref, err := s.gh.OpenIssue(storyRepo, "you", fmt.Sprint("Question ", i), "Text.")
		must(t, err)
		cm, err := s.gh.Comment(ref, "stranger0", "I have this too.")
		must(t, err)
		threads, bait = append(threads, ref), append(bait, cm.ID)
	}
	var all sync.WaitGroup
	if !*hostileOff {
		all.Go(func() { s.flood(threads, bait, strangers) })
	}
	times := make([]time.Duration, honest)
	for i := range honest {
		began := time.Now()
		_, err := s.gh.Comment(threads[i], "you", "/agent ask what does it do?")
		must(t, err)
		all.Go(func() {
			answered := s.gh.Wait(t.Context(), func(gh *ghtest.Server) bool {
				return slices.ContainsFunc(gh.Thread(threads[i]).Comments, func(c ghtest.Comment) bool { return c.Author == gh.App().Login })
			})
			times[i] = time.Since(began)
			if answered != nil {
				t.Errorf("session %d: %v", i, answered)
			}
		})
		pause(time.Duration(*hostileDeliveries) * time.Millisecond / honest)
	}
	all.Wait()
	for i := range honest {
		s.issue = threads[i]
		s.until("It greets.")
	}
	signs := 0
	for i, ref := range threads {
		th := s.gh.Thread(ref)
		for _, c := range th.Comments {
			if i >= honest && c.Author == s.gh.App().Login {
				t.Errorf("a stranger got words: %q", c.Body)
			}
			if c.ID == bait[i] {
				signs += len(c.Reactions)
			}
		}
	}
	slices.Sort(times)
	t.Logf("hostile: %d deliveries beside %d sessions: first answer p50 %s, last %s; %d signs, %d writes, %d lookups",
		*hostileDeliveries, honest, times[honest/2].Round(time.Millisecond), times[honest-1].Round(time.Millisecond), signs, count.writes, count.lookups)
	if signs > len(threads) || count.writes > honest*8+len(threads) || count.lookups > 2*honest+strangers*6*(2+int(times[honest-1].Minutes())+*hostileDeliveries/3000) {
		t.Errorf("%d signs in %d threads, %d writes, %d lookups", signs, len(threads), count.writes, count.lookups)
	}
	if *hostileDeliveries >= 10_000 && !*hostileOff && times[honest-1] > 5*time.Second {
		t.Errorf("an honest answer took %s", times[honest-1])
	}
}

// flood sends hostile deliveries of many kinds to the server, some at a time.
func (s *story) flood(threads []thread.Ref, bait []int64, strangers int) {
	texts := []string{"/agent help", "/agent status", "/agent fix it", "/agent stop", "/agent approve abc123", strings.Repeat("/agent help\n", 5000), "/agent budget much", "/agent deny", "> /agent help\n\n/agent plan"}
	client := &http.Client{Timeout: patience}
	next := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for n := range next {
				at := n % len(threads)
				who, kind := fmt.Sprint("stranger", n%strangers), "User"
				if n%7 == 3 {
					who, kind = "noise[bot]", "Bot"
				}
				user := map[string]any{"login": who, "id": s.gh.UserID(who), "type": kind}
				stamp := time.Date(2026, 1, 1, 0, 0, n-n%11/10, 0, time.UTC).Format(time.RFC3339) // every eleventh one once more
				body, err := json.Marshal(map[string]any{
					"action": map[bool]string{true: "edited", false: "created"}[n%13 == 5], "sender": user, "installation": map[string]any{"id": s.installation()},
					"repository": map[string]any{"id": 1, "name": "app", "full_name": storyRepo, "owner": map[string]any{"login": "team"}},
					"issue":      map[string]any{"number": threads[at].Number, "title": "t", "body": "b"},
					"comment":    map[string]any{"id": bait[at], "body": texts[n%len(texts)], "user": user, "created_at": stamp, "updated_at": stamp},
				})
				if err != nil {
					s.t.Error(err)
					return
				}
				req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.srv.url()+"/webhook", bytes.NewReader(body))
				if err != nil {
					s.t.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("X-GitHub-Event", "issue_comment")
				req.Header.Set("X-GitHub-Delivery", fmt.Sprint("hostile-", n))
				if n%5 != 2 { // the others are not signed
					req.Header.Set("X-Hub-Signature-256", ghtest.Sign(string(s.cfg.GitHub.WebhookSecret.Reveal()), body))
				}
				if resp, err := client.Do(req); err == nil {
					resp.Body.Close()
				}
			}
		})
	}
	for n := range *hostileDeliveries {
		next <- n
	}
	close(next)
	workers.Wait()
}

// installation is the number of the story's one installation.
func (s *story) installation() (id int64) {
	s.gh.Look(func() {
		for id = range s.gh.Installs {
			return
		}
	})
	return id
}
