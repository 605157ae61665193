package action

import (
	"fmt"
	"io"
	"sync"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/terminal"
)

// Log shows a session in the log of a job, a group for each turn. Words of the model and
// of commands are never a command of the runner. It is safe for concurrent use.
type Log struct {
	to io.Writer

	mu    sync.Mutex
	shown *terminal.Terminal
	open  bool
	turn  int
}

// NewLog returns a log that writes its groups to the standard output of a step, and what
// happens to safe, a way there on which no line is a command.
func NewLog(to, safe io.Writer) *Log { return &Log{to: to, shown: terminal.New(nil, safe, false)} }

// Event shows what happened.
func (l *Log) Event(e session.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin(true, e.Turn)
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
