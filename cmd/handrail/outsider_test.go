package main

import (
	"context"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// Who may only read can neither ask nor approve.
func TestStrangers(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, askThenFix)
	s.say("stranger", "/agent fix the greeting")
	s.logged("not answered", 1)
	s.say("you", "/agent fix the greeting and clean the build")
	id := s.request()
	s.say("stranger", "/agent approve "+id)
	s.logged("not answered", 2)
	if !strings.Contains(s.until("**awaiting approval**"), id) {
		t.Error("the request is not open any more")
	}
	s.say("you", "/agent approve "+id)
	s.done()
	signs := 0
	for _, c := range s.gh.Thread(s.issue).Comments {
		for _, r := range c.Reactions {
			if c.Author == "stranger" {
				signs++
			}
			if c.Author == "stranger" && r.Content != "confused" {
				t.Errorf("%s on %q", r.Content, c.Body)
			}
		}
	}
	if signs != 1 || strings.Contains(s.thread(), "I did not start") || strings.Contains(s.thread(), "does not count") {
		t.Errorf("%d signs for somebody without rights, want one and no words\n%s", signs, s.thread())
	}
}

// logged waits until the server has logged words so often.
func (s *story) logged(words string, times int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := waitFor(ctx, func() bool { return strings.Count(s.log.String(), words) >= times }); err != nil {
		s.t.Fatalf("%q was not logged %d times: %v\n%s", words, times, err, s.log)
	}
}
