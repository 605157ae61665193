package main

import (
	"context"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
)

const (
	byReview = "approvals: {by: review}\n"
	oldApp   = "replicas: 1\n"
	newApp   = "replicas: 2\n"
)

// scaleUp changes an ordinary and a sensitive file in one turn.
const scaleUp = `
- calls:
  - {name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}
  - {name: edit_file, arguments: {path: deploy/app.yaml, old_string: "replicas: 1", new_string: "replicas: 2"}}
`

const (
	whenTaken   = scaleUp + "- say: \"Both are done. [TASK_COMPLETE]\"\n"
	whenDropped = scaleUp + `- when: {contains: ["The change to deploy/app.yaml was taken back"]}
  calls: [{name: write_file, arguments: {path: notes.txt, content: "later\n"}}]
- say: "Only the greeting. [TASK_COMPLETE]"
`
)

// reviewStory asks for a sensitive edit where those are reviewed, and waits
// for the small pull request.
func reviewStory(t *testing.T, config, turns string) *story {
	t.Helper()
	s := newStory(t, map[string]string{
		"greet.sh": "echo Helo\n", "deploy/app.yaml": oldApp, ".github/agent.yml": config,
	}, turns)
	s.gh.AddUser("kim", "write")
	return s
}

// asked starts the session and returns the small pull request.
func (s *story) asked() ghtest.Thread {
	s.t.Helper()
	s.say("you", "/agent fix the greeting and scale up")
	s.until("Approval `", "deploy/app.yaml", "Answer with a review there")
	s.until("**awaiting approval**", "by a review of #")
	return s.smallPull()
}

// smallPulls are the pull requests by which edits are reviewed, oldest first.
func (s *story) smallPulls() []ghtest.Thread {
	var out []ghtest.Thread
	for _, t := range s.gh.Threads(storyRepo) {
		if t.Pull != nil && strings.HasPrefix(t.Pull.HeadRef, "handrail-review-1-") {
			out = append(out, t)
		}
	}
	return out
}

func (s *story) smallPull() ghtest.Thread {
	s.t.Helper()
	list := s.smallPulls()
	if len(list) == 0 {
		s.t.Fatalf("there is no small pull request\n%s", s.thread())
	}
	return list[len(list)-1]
}

// wait waits until ok.
func (s *story) wait(what string, ok func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.gh.Wait(ctx, func(*ghtest.Server) bool { return ok() }); err != nil {
		s.t.Fatalf("%s: %v\n%s\n%+v", what, err, s.thread(), s.smallPulls())
	}
}

// over waits until a small pull request was ended with these words, and
// checks that it is closed, its branch gone, and that the bot said one thing.
func (s *story) over(at thread.Ref, words string) {
	s.t.Helper()
	said := func() []string {
		var out []string
		for _, c := range s.gh.Thread(at).Comments {
			if c.Author == s.gh.App().Login && !strings.Contains(c.Body, "does not count") {
				out = append(out, c.Body)
			}
		}
		return out
	}
	s.wait("the pull request does not end with "+words, func() bool {
		th := s.gh.Thread(at)
		return th.State == "closed" && len(said()) > 0 && s.gh.Branches(storyRepo)[th.Pull.HeadRef] == ""
	})
	if got := said(); len(got) != 1 || !strings.Contains(got[0], words) || !strings.Contains(got[0], "#1") {
		s.t.Errorf("the bot's last words are %q, want %q once", got, words)
	}
}

func (s *story) review(at thread.Ref, by, event, body string) ghtest.Review {
	s.t.Helper()
	r, err := s.gh.Review(at, by, ghcheck.NewReview{Event: event, Body: body})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// outcome checks what is on the session's branch in the end.
func (s *story) outcome(app string) {
	s.t.Helper()
	s.done()
	var head string
	for _, t := range s.gh.Threads(storyRepo) {
		if t.Pull != nil && strings.HasPrefix(t.Pull.HeadRef, "agent/") {
			head = t.Pull.HeadRef
		}
	}
	for path, want := range map[string]string{"deploy/app.yaml": app, "greet.sh": "echo Hello\n"} {
		if got := s.file(head, path); got != want {
			s.t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	if got := s.file("main", "deploy/app.yaml"); got != oldApp {
		s.t.Errorf("main has %q", got)
	}
}
