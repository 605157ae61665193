package main

import (
	"bufio"
	"context"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// beside starts another server over the database of a story, with a dashboard of its own. The
// webhook stays where it is.
func (s *story) beside() *story {
	s.t.Helper()
	b := &story{t: s.t, gh: s.gh, model: s.model, cfg: s.cfg, log: &syncBuffer{}, issue: s.issue}
	at := steadyAddress(s.t)
	b.cfg.Data, b.cfg.Dashboard.Listen, b.cfg.Dashboard.URL = s.t.TempDir(), at, "http://"+at
	b.startWith(serverOptions{
		spacing: -1, settle: 100 * time.Millisecond, every: 50 * time.Millisecond, owner: "server-b", poll: time.Hour, sweep: time.Hour,
	})
	s.gh.SetWebhook(s.srv.url() + "/webhook")
	s.t.Cleanup(func() {
		if err := b.srv.close(context.WithoutCancel(s.t.Context())); err != nil {
			s.t.Errorf("close the second server: %v", err)
		}
		if s.t.Failed() {
			s.t.Logf("log of the second server:\n%s", b.log)
		}
	})
	return b
}

// follow opens the stream of a session. The returned function reads on until a message of a
// kind has all words.
func (b *browser) follow(path string) func(kind string, words ...string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.t.Context(), patience/5)
	b.t.Cleanup(stop)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.at+path, nil)
	must(b.t, err)
	resp, err := b.http.Do(req)
	must(b.t, err)
	b.t.Cleanup(func() { _, _ = io.Copy(io.Discard, resp.Body); must(b.t, resp.Body.Close()) })
	b.t.Cleanup(stop)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b.t.Fatalf("the stream is %s", resp.Status)
	}
	r := bufio.NewReader(resp.Body)
	var seen strings.Builder
	return func(kind string, words ...string) {
		b.t.Helper()
		message := ""
		for {
			l, err := r.ReadString('\n')
			if err != nil {
				b.t.Fatalf("no %s with %q: %v\n%s", kind, words, err, seen.String())
			}
			seen.WriteString(l)
			if message += l; l != "\n" {
				continue
			}
			if strings.Contains(message, "event: "+kind+"\n") && containsAllOf(html.UnescapeString(message), words) {
				return
			}
			message = ""
		}
	}
}

// session returns the address of the one session in the list.
func (b *browser) session() string {
	b.t.Helper()
	page := b.get("/")
	link := regexp.MustCompile(`href="(/s/[a-z0-9]+)"`).FindStringSubmatch(page)
	if link == nil {
		b.t.Fatalf("the list has no session: %s", page)
	}
	return link[1]
}

// TestDashboardOfAnotherServer: of two servers on one PostgreSQL, one works on a session and
// the other shows it while it runs, without a look at the log of its own accord. A stop there
// ends it here.
func TestDashboardOfAnotherServer(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	database := storetest.StartPostgres(t, false)
	s := newStory(t, greeting, `
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- {say: "The greeting is right now.", calls: [{name: run_terminal_command, arguments: {command: cat greet.sh}}], misbehave: {stall: true}}
- {say: "Never said to the end.", misbehave: {stall: true}}`)
	s.stop()
	s.cfg.Database = database.Database(t)
	at := steadyAddress(t)
	s.cfg.Dashboard.Listen, s.cfg.Dashboard.URL = at, "http://"+at
	s.cfg.Dashboard.ClientID, s.cfg.Dashboard.Secret = s.gh.App().ClientID, "the client's secret"
	s.startWith(serverOptions{spacing: -1, settle: 100 * time.Millisecond, every: 50 * time.Millisecond, owner: "server-a"})
	s.say("you", "/agent fix the greeting")
	must(t, s.model.WaitStalled(t.Context()))
	b := s.beside()
	you, stranger := b.browse("you"), b.browse("stranger")
	link := you.session()
	if list := you.get("/"); !strings.Contains(list, `<span class="phase">server-a `) || !strings.Contains(list, "; heartbeat ") {
		t.Errorf("the list does not say who works: %s", list)
	}
	until := you.follow(link + "/events?after=0")
	until("item", "greet.sh")
	you.until("/", "server-a waits ", "for the model: its server says nothing")
	must(t, s.model.Release(t.Context()))
	until("item", "The greeting is right now.")
	must(t, s.model.WaitStalled(t.Context()))
	stop := url.Values{"do": {"stop"}, "nonce": {"n1"}}
	if status, _ := stranger.do(http.MethodPost, link+"/command", stop); status != http.StatusForbidden {
		t.Errorf("a reader's stop: %d", status)
	}
	if status, _ := you.do(http.MethodPost, link+"/command", stop); status != http.StatusOK {
		t.Fatalf("stop: %d", status)
	}
	until("item", "you stopped this")
	until("state", "stopped")
	s.until("you stopped this")
	s.look(func(st store.Store) {
		row, err := st.Sessions.ByThread(t.Context(), s.issue.Key())
		must(t, err)
		events, err := st.Logs.Log(store.Fence{Key: row.ID}).Events(t.Context(), 0)
		must(t, err)
		for _, e := range events {
			if e.Type == session.TypeAnswer && strings.Contains(string(e.Data), "Never said") {
				t.Error("the session went on")
			}
		}
	})
	if ended := "session stopped running"; !strings.Contains(s.log.String(), ended) || strings.Contains(b.log.String(), ended) {
		t.Errorf("the run did not end where it was\n%s", b.log)
	}
}

// TestDashboardStopsTheDead: a session whose server has died, and left its leases behind, is
// stopped from the dashboard of another one.
func TestDashboardStopsTheDead(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- {say: "Never said to the end.", repeat: true, misbehave: {stall: true}}`)
	s.stop()
	s.grace = 10 * time.Millisecond
	s.start()
	s.say("you", "/agent fix the greeting")
	must(t, s.model.WaitStalled(t.Context()))
	s.stop()
	s.look(func(st store.Store) { // as a process that is killed leaves it
		row, err := st.Sessions.ByThread(t.Context(), s.issue.Key())
		must(t, err)
		_, err = st.Leases.Acquire(t.Context(), s.issue.Key(), "server-a", 5*time.Second)
		must(t, err)
		held, err := st.Leases.Acquire(t.Context(), row.ID, "server-a", 5*time.Second)
		must(t, err)
		row, err = st.Sessions.Session(t.Context(), row.ID)
		must(t, err)
		row.State = session.PhaseRunning
		must(t, st.Sessions.Update(t.Context(), held.Fence(), row))
	})
	s.withDashboard()
	you := s.browse("you")
	link := you.session()
	if page := you.get(link); !strings.Contains(page, "works on it") && !strings.Contains(page, "the lease of server-a ended") {
		t.Errorf("the page does not say who has the session: %s", page)
	}
	if status, _ := you.do(http.MethodPost, link+"/command", url.Values{"do": {"stop"}, "nonce": {"n1"}}); status != http.StatusOK {
		t.Fatalf("stop: %d", status)
	}
	s.until("you stopped this")
	you.follow(link+"/events?after=0")("state", "stopped")
}
