package agent

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/handrail-bot/handrail/agent/session"
)

// panicked is a panic as an error. It is final, because a repetition would panic again.
type panicked struct {
	what  string // the component that panicked
	value any
}

// Error implements error.
func (p *panicked) Error() string {
	return fmt.Sprintf("%s broke because of a fault in Handrail itself (%v)", p.what, p.value)
}

// Final reports that a retry cannot help.
func (*panicked) Final() bool { return true }

// guard calls fn, logs the stack of a panic and returns the panic as an error.
func (j *journal) guard(ctx context.Context, what string, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil { //control:panic-is-an-error
			j.logger.ErrorContext(
				ctx, "panic", "session", j.Task.Session, "what", what, "value",
				fmt.Sprint(v),
				"stack",
				string(debug.Stack()),
			)
			err = &panicked{what, v}
		}
	}()
	return fn()
}

// toolBroke returns the text for the model after a tool panicked.
func toolBroke(err error) string {
	return err.Error() + ". Your call was not wrong. Do not make the same call again: reach the aim in another way, or do without and say so."
}

// cutOff reports whether a call began in an earlier run and never finished. Its effects
// outside of the workspace are unknown, so it does not run again, except for calls that
// only read or converse.
func cutOff(c *session.CallState) bool { return c.Started && c.Open() && !c.Harmless() }

// cutOffText returns the text for the model about a call that was cut off.
func cutOffText(tool string) string {
	return "This call of " + tool + " began and did not finish: it ended with the workspace. " +
		"The files are as they were before it; what it did elsewhere, over a network for example, may have happened. " +
		"It was not run again. If it is still needed, make the call again; where a person had to approve it, they are asked anew."
}
