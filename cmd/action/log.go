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

// Log shows a session in the log of a job, with a group for each turn. Text of the model
// and of commands is escaped, so that the runner never takes it for its own commands. It
// is safe for concurrent use.
type Log struct {
	to io.Writer

	mu    sync.Mutex
	shown *terminal.Terminal
	open  bool
	turn  int // turn of the open group; now is that of the current event
	now   int
}

// NewLog returns a log that writes groups to to, the standard output of a step, and
// events to safe, a writer to the same output that neutralizes commands of the runner.
func NewLog(to, safe io.Writer) *Log {
	l := &Log{to: to}
	l.shown = terminal.New(terminal.Config{Out: grouped{l, safe}})
	return l
}

// grouped opens the group of a turn at the first output.
type grouped struct {
	log *Log
	to  io.Writer
}

// Write implements [io.Writer].
func (g grouped) Write(p []byte) (int, error) {
	g.log.begin(true, g.log.now)
	return g.to.Write(p)
}

// Event shows an event.
func (l *Log) Event(e session.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = e.Turn
	if e.Type == session.TypeAsked {
		asked, _ := session.Decode[session.Asked](e) // zero if it cannot be read
		first, _, more := strings.Cut(strings.TrimSpace(asked.Display), "\n")
		l.shown.Say("✋ asks in the thread: %s%s", untrusted.EscapeLine(first), map[bool]string{true: " …"}[more])
	}
	l.shown.Event(e)
}

// End closes the open group.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin(false, 0)
}

// begin closes the open group and, with open, opens that of a turn.
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
