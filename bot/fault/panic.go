package fault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicError is a panic as an error. There is no automatic retry: it would panic again.
type panicError struct{ value any }

// Error implements error.
func (p *panicError) Error() string {
	return fmt.Sprintf("a fault in Handrail itself (%v); the server's log has the details", p.value)
}

// Final reports that a retry cannot help.
func (*panicError) Final() bool { return true }

// Guarded calls fn and returns its panic as an error, after logging the stack.
func Guarded(ctx context.Context, log *slog.Logger, what string, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil { //control:fault-is-an-end
			log.ErrorContext(ctx, "panic", "what", what, "value", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = &panicError{v}
		}
	}()
	return fn()
}

// Is reports whether an error is a panic.
func Is(err error) bool {
	var p *panicError
	return errors.As(err, &p)
}
