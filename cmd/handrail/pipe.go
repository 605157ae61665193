package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/handrail-bot/handrail/cmd/terminal"
)

// pipe is the standard output of a verb that works on a session. If its reader ends, as in
// `handrail run | head`, the work parks as with Ctrl-C, and all further output goes to standard error.
type pipe struct {
	out, err io.Writer
	park     context.CancelFunc

	mu   sync.Mutex
	gone bool // the reader
}

// newPipe returns the standard output of a command line, and nil if a signal may end it.
func newPipe(args []string, w *console, park context.CancelFunc) *pipe {
	if len(args) == 0 || !slices.Contains([]string{"run", "resume", "chat"}, args[0]) || asksForHelp(args) {
		return nil
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write fails in its place
	return &pipe{out: w.out, err: w.err, park: park}
}

// Write implements [io.Writer].
func (p *pipe) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		n, err := p.out.Write(text)
		if !errors.Is(err, syscall.EPIPE) { //control:reader-of-a-pipe-ends
			return n, err
		}
		p.gone = true
		p.park()
		fmt.Fprintln(p.err, "handrail: the output has no reader any more; it goes on here")
	}
	_, _ = p.err.Write(text) // it may have no reader either
	return len(text), nil
}

// exit returns the exit code of a command that ended with code.
func (p *pipe) exit(code int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone && code == exitDone {
		return exitFailed
	}
	return code
}

// executePiped is [execute] with an output whose reader may end.
func executePiped(ctx context.Context, args []string, w *console, park context.CancelFunc) int {
	p := newPipe(args, w, park)
	if p == nil || terminal.IsPerson(os.Stdout) {
		return execute(ctx, args, w)
	}
	w.out = p
	return p.exit(execute(ctx, args, w))
}
