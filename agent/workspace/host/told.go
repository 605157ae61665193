package host

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// exitStatuses collects the statuses that marked commands report on a pipe of the shell.
type exitStatuses struct {
	write *os.File // our end; marks the end of a line in the pipe
	ended chan string
	over  chan struct{} // closed when the reader ends

	mu    sync.Mutex
	exits map[int]int // command number → exit code
}

func newExitStatuses(read, write *os.File) *exitStatuses {
	t := &exitStatuses{write: write, ended: make(chan string, 1), over: make(chan struct{}), exits: map[int]int{}}
	go t.read(read)
	return t
}

// maxStatuses is the maximum number of statuses kept.
const maxStatuses = 1000

func (t *exitStatuses) read(from *os.File) {
	defer close(t.over)
	for sc := bufio.NewScanner(from); sc.Scan(); {
		number, status, _ := strings.Cut(sc.Text(), " ")
		if number == "=" {
			select {
			case t.ended <- status:
			default: // forged by a command
			}
			continue
		}
		n, err := strconv.Atoi(number)
		code, wrong := strconv.Atoi(status)
		t.mu.Lock()
		if was, again := t.exits[n]; err == nil && wrong == nil && len(t.exits) < maxStatuses && (!again || was == 0) {
			t.exits[n] = code
		}
		t.mu.Unlock()
	}
}

// takeResults returns the statuses of the commands of a finished line, numbered from first.
func (t *exitStatuses) takeResults(nonce string, first int, commands []string) (out []workspace.Ran) {
	if len(commands) == 0 {
		return nil
	}
	if _, err := t.write.WriteString("= " + nonce + "\n"); err != nil {
		return nil // the shell is gone, and its statuses with it
	}
	for waits := true; waits; {
		select {
		case end := <-t.ended:
			waits = end != nonce
		case <-t.over:
			waits = false
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, line := range commands {
		if exit, ok := t.exits[first+i]; ok {
			out = append(out, workspace.Ran{Line: line, Exit: exit})
		}
	}
	clear(t.exits)
	return out
}
