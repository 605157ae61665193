package builtin

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// standing is the shell's directory between commands. Each command gets its directory
// explicitly, so policy judges it there. The session's log records the directory, and
// another workspace continues in it.
type standing struct {
	mu   sync.Mutex
	at   string
	anew bool // commands ran in an earlier workspace
}

func newStanding(s session.Shell) *standing {
	return &standing{at: cmp.Or(s.Dir, "."), anew: s.Dir != ""}
}

// dir returns the directory of the next command.
func (s *standing) dir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// missing handles a command that could not run. If its directory is gone, the next
// command begins in the root.
func (s *standing) missing(cmd workspace.Command, err error) (tools.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cmd.Cwd != s.at || s.at == "." || !errors.Is(err, workspace.ErrNotExist) && !errors.Is(err, workspace.ErrOutside) {
		return tools.Result{}, err
	}
	s.at = "."
	return tools.Result{Dir: "."}, fmt.Errorf("the command was not run: %s, where the shell stood, is gone. The next command begins in the root", cmd.Cwd)
}

// update records the directory after a command, and returns a note for the model. A
// directory given for one command does not persist, unless the command changed it.
func (s *standing) update(cmd workspace.Command, res workspace.CommandResult) (say string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anew {
		s.anew = false
		say += "\n[This is a new shell, in a new workspace: variables and functions of before are lost.]"
	}
	was := s.at
	switch {
	case res.Dir == "" || res.Left == "" && res.Dir == path.Clean(cmd.Cwd):
	case res.Left != "":
		s.at = "." //control:directory-clamped
		say += fmt.Sprintf(
			"\n[The shell was left in %s, which is gone or outside the workspace. The next command begins in the root.]",
			tools.Shorten(res.Left, tools.MaxOutLine),
		)
	default:
		s.at = res.Dir
	}
	switch {
	case s.at != was && res.Left == "":
		say += fmt.Sprintf("\n[The next command begins in %s.]", dirName(s.at))
	case s.at != path.Clean(cmd.Cwd) && s.at != "." || res.Dir == "" && s.at != ".":
		say += fmt.Sprintf("\n[The next command begins in %s again.]", dirName(s.at))
	}
	return say
}

// dirName returns the display name of a directory.
func dirName(dir string) string {
	if dir == "." {
		return "the root"
	}
	return dir
}
