package main

import (
	"os"
	"path/filepath"
	"testing"
)

// loseWork takes away what another machine would not have: mirrors and workspaces.
func (s *story) loseWork() {
	s.t.Helper()
	for _, dir := range []string{"mirrors", "work"} {
		if err := os.RemoveAll(filepath.Join(s.cfg.Data, dir)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// A session that waits with a half-done change goes on where nobody has the
// commit of that change: on another machine, from the log alone.
func TestAnotherMachineGoesOn(t *testing.T) {
	s := newStory(t, greeting, `
- calls:
  - {name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}
  - {name: run_terminal_command, arguments: {command: rm -rf build}}
- say: "Both are done. [TASK_COMPLETE]"
`)
	s.say("you", "/agent fix the greeting and clean the build")
	id := s.request()
	s.until("**awaiting approval**")
	s.stop()
	s.loseWork()
	s.start()
	s.say("you", "/agent approve "+id)
	s.done()
	head := s.pull().Pull.HeadRef
	if got := s.file(head, "greet.sh"); got != "echo Hello\n" {
		t.Errorf("greet.sh = %q, the half-done change was lost", got)
	}
	if _, err := s.gh.File(storyRepo, head, "build/out"); err == nil {
		t.Error("the approved command had no effect")
	}
}
