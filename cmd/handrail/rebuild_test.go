package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
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
	t.Parallel()
	longtest.Leave(t)
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

// What a power cut leaves of a mirror is mended, whatever of it is lost: an
// object of the saved state, of the base or of a published commit is gone, empty
// or full of zeros.
func TestDamagedMirrorIsMended(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, damage := range map[string]func(path string) error{
		"gone":  os.Remove,
		"empty": func(path string) error { return truncated(path, 0) },
		"zeros": func(path string) error { return truncated(path, 40) },
		"half":  func(path string) error { return os.Truncate(path, 20) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, greeting, `
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- calls:
  - {name: write_file, arguments: {path: deep/down/note.txt, content: "noted\n"}}
  - {name: run_terminal_command, arguments: {command: rm -rf build}}
- {say: "All is done. [TASK_COMPLETE]", repeat: true}
`)
			s.say("you", "/agent fix the greeting, note it and clean the build")
			id := s.request()
			s.until("**awaiting approval**")
			s.stop()
			var loose []string
			err := filepath.WalkDir(filepath.Join(s.cfg.Data, "mirrors"), func(path string, d os.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && len(d.Name()) == 38 {
					loose = append(loose, path)
				}
				return err
			})
			if err != nil || len(loose) < 8 {
				t.Fatalf("%d loose objects, %v", len(loose), err)
			}
			for _, path := range loose {
				if err := os.Chmod(path, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := damage(path); err != nil {
					t.Fatal(err)
				}
			}
			s.start()
			s.say("you", "/agent approve "+id)
			s.approve("**done**", "Pull request: #")
			head := s.pull().Pull.HeadRef
			if got := s.file(head, "greet.sh"); got != "echo Hello\n" {
				t.Errorf("greet.sh = %q", got)
			}
			if strings.Contains(s.thread(), "The checkpoints after") {
				t.Error("a commit that is on the branch was taken for lost")
			}
			if !strings.Contains(s.thread(), "are gone") { // nothing but the mirror had the note
				if got := s.file(head, "deep/down/note.txt"); got != "noted\n" {
					t.Errorf("the note is %q, and nobody was told that it is lost", got)
				}
			}
		})
	}
}

func truncated(path string, zeros int64) error {
	if err := os.Truncate(path, 0); err != nil {
		return err
	}
	return os.Truncate(path, zeros)
}
