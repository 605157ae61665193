package action

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Log shows a session in the log of a job, a group for each turn. Words of the model and
// of commands are never a command of the runner. It is safe for concurrent use.
type Log struct {
	to io.Writer

	mu    sync.Mutex
	shown *terminal.Terminal
	open  bool
	turn  int // of the group, and that of what happens now
	now   int
}

// NewLog returns a log that writes its groups to the standard output of a step, and what
// happens to safe, a way there on which no line is a command.
func NewLog(to, safe io.Writer) *Log {
	l := &Log{to: to}
	l.shown = terminal.New(terminal.Config{Out: grouped{l, safe}})
	return l
}

// grouped begins the group of a turn when there is something to show in it.
type grouped struct {
	log *Log
	to  io.Writer
}

// Write implements [io.Writer].
func (g grouped) Write(p []byte) (int, error) {
	g.log.begin(true, g.log.now)
	return g.to.Write(p)
}

// Event shows what happened.
func (l *Log) Event(e session.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = e.Turn
	if e.Type == session.TypeAsked {
		asked, _ := session.Decode[session.Asked](e) // empty where it is none
		first, _, more := strings.Cut(strings.TrimSpace(asked.Display), "\n")
		l.shown.Say("✋ asks in the thread: %s%s", untrusted.EscapeLine(first), map[bool]string{true: " …"}[more])
	}
	l.shown.Event(e)
}

// End ends the group that is open.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin(false, 0)
}

// begin begins the group of a turn, or none.
func (l *Log) begin(open bool, turn int) {
	if open == l.open && turn == l.turn {
		return
	}
	if l.open {
		fmt.Fprintln(l.to, "::endgroup::")
	}
	if l.open, l.turn = open, turn; open {
		fmt.Fprintf(l.to, "::group::Turn %d\n", turn)
	}
}
