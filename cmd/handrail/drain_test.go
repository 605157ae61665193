package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// look opens the database of a server that is down.
func (s *story) look(fn func(store.Store)) {
	s.t.Helper()
	db, err := records.Open(s.t.Context(), s.cfg, logger(s.log, "error"))
	must(s.t, err)
	fn(db.Store)
	must(s.t, db.Close())
}

// TestDrain ends the server while the model answers, which would take longer
// than the server waits. Nothing says that the session runs while the server
// is down, nobody holds it, and the next server goes on with it.
func TestDrain(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- {say: "Never said to the end.", misbehave: {stall: true}}
- say: "The greeting is right now. [TASK_COMPLETE]"
`)
	s.stop()
	s.grace = 10 * time.Millisecond
	s.start()
	s.say("you", "/agent fix the greeting")
	s.until("**running**", "greet.sh")
	must(t, s.model.WaitStalled(t.Context()))
	s.stop()
	for _, c := range s.gh.Thread(s.issue).Comments {
		if strings.Contains(c.Body, "**running**") {
			t.Errorf("while the server is down a comment says:\n%s", c.Body)
		}
	}
	s.until("**queued**", "greet.sh")
	s.look(func(db store.Store) {
		row, err := db.Sessions.ByThread(t.Context(), s.issue.Key())
		must(t, err)
		if row.State != session.PhaseQueued {
			t.Errorf("while the server is down the session is %q", row.State)
		}
		for _, key := range []string{row.ID, s.issue.Key()} {
			l, err := db.Leases.Lease(t.Context(), key)
			if err != nil && !errors.Is(err, store.ErrNotFound) || l.Owner != "" {
				t.Errorf("%s is held by %q: %v", key, l.Owner, err)
			}
		}
	})
	s.start()
	s.done()
	if got := s.file(s.pull().Pull.HeadRef, "greet.sh"); got != "echo Hello\n" {
		t.Errorf("greet.sh = %q", got)
	}
}

// TestDrainWaits ends the server while work goes on that ends in time: it is
// waited for.
func TestDrainWaits(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- {say: "The greeting is right now. [TASK_COMPLETE]", misbehave: {stall: true}}
`)
	s.stop()
	s.grace = time.Minute
	s.start()
	s.say("you", "/agent fix the greeting")
	s.until("**running**", "greet.sh")
	must(t, s.model.WaitStalled(t.Context()))
	down := make(chan struct{})
	go func() {
		defer close(down)
		s.stop()
	}()
	must(t, s.model.Release(t.Context()))
	<-down
	s.done()
	if got := s.file(s.pull().Pull.HeadRef, "greet.sh"); got != "echo Hello\n" {
		t.Errorf("greet.sh = %q", got)
	}
}

// TestDeadlineWakes leaves a request unanswered: when its time is over, and
// not before, the session goes on by itself and the model is told.
func TestDeadlineWakes(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- when: {tool_result_contains: [The request was not answered in time]}
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "Done without cleaning. [TASK_COMPLETE]"
`)
	s.stop()
	s.cfg.Policy.Approvals.Deadline = policy.Duration(10 * time.Second) // enough to see the request
	s.start()
	s.say("you", "/agent fix the greeting and clean the build")
	id := s.request()
	s.done()
	s.say("you", "/agent approve "+id)
	s.until("`" + id + "` was not answered in time")
	s.stop()
	var asked session.Asked
	expired := false
	for _, e := range s.events() {
		switch e.Type {
		case session.TypeAsked:
			var err error
			asked, err = session.Decode[session.Asked](e)
			must(t, err)
		case session.TypeResolved:
			r, err := session.Decode[session.Resolved](e)
			must(t, err)
			expired = r.ID == id && r.Verdict == "expired"
			if e.Time.Before(asked.Deadline) {
				t.Errorf("the request of %s ended at %s, before its deadline %s", id, e.Time, asked.Deadline)
			}
		}
	}
	if asked.ID != id || asked.Deadline.IsZero() || !expired {
		t.Errorf("asked %+v, expired: %t", asked, expired)
	}
	if got := s.file(s.pull().Pull.HeadRef, "build/out"); got != "1\n" {
		t.Errorf("build/out = %q", got)
	}
}
