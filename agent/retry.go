package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// Retry says how to go on when the model's server fails in a way that may
// pass. The zero value means four attempts, one second apart at first,
// doubling, with jitter, never more than thirty seconds.
type Retry struct {
	Attempts int
	Base     time.Duration
	Max      time.Duration
}

func (r Retry) withDefaults() Retry {
	if r.Attempts == 0 {
		r.Attempts = 4
	}
	if r.Base == 0 {
		r.Base = time.Second
	}
	if r.Max == 0 {
		r.Max = 30 * time.Second
	}
	return r
}

// wait is the pause before attempt n, counted from 1: exponential, with half
// of it random so that many sessions do not come back at once.
func (r Retry) wait(n int) time.Duration {
	d := min(r.Base<<(n-1), r.Max)
	return d/2 + rand.N(d/2+1)
}

// retrying calls f until it succeeds, fails for good, or the attempts are
// used up. A broken answer leaves nothing behind, so the turn is simply asked
// again from the last complete one.
func (r *run) retrying(ctx context.Context, f func() error) error {
	for n := 1; ; n++ {
		err := f()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if !llm.KindOf(err).Temporary() || n >= r.cfg.Retry.Attempts {
			return err
		}
		r.cfg.Log.WarnContext(ctx, "model failed, trying again", "session", r.state.task.Session, "attempt", n, "err", err)
		r.live(Live{Title: "The model did not answer; trying again"})
		if err := pause(ctx, r.cfg.Retry.wait(n)); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *run) capabilities(ctx context.Context) (caps llm.Capabilities, err error) {
	err = r.retrying(ctx, func() error {
		caps, err = r.cfg.Model.Capabilities(ctx)
		return err
	})
	return caps, err
}

// modelFailed decides what a failure of the model means for the session:
// text calls instead of native ones, a shorter conversation, or the end with
// a sentence that a person understands.
func (r *run) modelFailed(ctx context.Context, err error) (verdict, *session.Outcome, error) {
	if ctx.Err() != nil || errors.Is(err, session.ErrFenced) {
		return goOn, nil, err
	}
	var me *llm.Error
	if !errors.As(err, &me) {
		return goOn, nil, err
	}
	switch {
	case me.Kind == llm.Unsupported && !r.text:
		r.text, r.caps.Tools = true, false
		return goOn, nil, r.tell(ctx, noteReminder, "This server takes no native tool calls. Write calls as text, as the system prompt describes.")
	case me.Kind == llm.Unsupported && (r.caps.Thinking || r.caps.Vision):
		r.caps.Thinking, r.caps.Vision = false, false
		return goOn, nil, r.tell(ctx, noteReminder, "")
	case me.Kind == llm.TooLong && r.canCompact():
		return goOn, nil, r.compact(ctx)
	}
	r.cfg.Log.ErrorContext(ctx, "model failed", "session", r.state.task.Session, "model", r.cfg.Model.Name(), "err", err)
	return halt, &session.Outcome{Status: session.StatusFailed, Reason: me.Public}, nil
}
