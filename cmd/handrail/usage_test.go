package main

import (
	"testing"

	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// The budget of a person's day counts all threads, the budget of a thread all
// its sessions; reaching one parks and asks, and granting more goes on.
func TestSharedBudgets(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
  tokens: {prompt: 100, answer: 10}
- say: "The greeting is right now. [TASK_COMPLETE]"
  tokens: {prompt: 100, answer: 10}
- calls: [{name: write_file, arguments: {path: more.txt, content: "more\n"}}]
  tokens: {prompt: 100, answer: 10}
- say: "More is there. [TASK_COMPLETE]"
`)
	s.stop()
	s.cfg.Policy.Budget.UserDay = policy.Limits{Tokens: 200}
	s.start()
	s.say("you", "/agent fix the greeting")
	s.done()
	s.report("Add more.")
	s.say("you", "/agent add more.txt")
	s.until("**out of budget**", "The work for you on ", "has used 220 tokens, 200 were allowed", "/agent budget +10")
	s.say("you", "/agent budget +10")
	s.until("it needs maintain permission on this repository to raise limits")
	s.gh.AddUser("boss", "maintain")
	s.say("boss", "/agent budget +10")
	s.until("**done**", "more.txt")
}
