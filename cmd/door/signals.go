package door

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameSignal is the time in which further signals are the first one again: timeout(1), make and others
// signal a process and its group.
const sameSignal = 500 * time.Millisecond

// UntilSignal returns a context that ends with the first signal of its kind. A later one ends the process.
func UntilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, endSignals()...)
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	return ctx, stop
}

// endSignals returns the signals that end a command in good order: Ctrl-C, a stop by the system, and
// the end of the terminal or of the connection to it. Under nohup that last one stays ignored.
func endSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { //control:hangup-parks
		list = append(list, syscall.SIGHUP)
	}
	return list
}
