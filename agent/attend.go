package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// answerTime is how long an answer may take from its first word on, where the operator
// set no limit.
const answerTime = 3 * time.Minute

// errLate is that an answer took longer than it may.
var errLate = errors.New("the answer took too long")

// firstSilence is how long a model's server may say nothing before people read what is
// waited for. They read it again after twice that time, and so on.
const firstSilence = 15 * time.Second

// What a server may be at that says nothing.
const (
	loading   = "it may be loading the model"
	answering = "it may be reading the prompt or serving another client"
	pausing   = "it may be serving another client"
)

// source passes what a model's server says to yield, which returns false where no more
// of it is wanted.
type source func(ctx context.Context, yield func(llm.Part) bool) error

// parts is the source of an answer.
func (m *model) parts(req llm.Request) source {
	return func(ctx context.Context, yield func(llm.Part) bool) error {
		for part, err := range m.llm.Stream(ctx, req) {
			if err != nil {
				return err
			}
			if !yield(part) {
				return nil
			}
		}
		return nil
	}
}

// attend passes what a source says to take, until that returns false, and tells people
// from time to time that the server says nothing and what it may be at. An answer that
// takes too long ends with errLate. The server is waited for in a goroutine, which has
// ended when attend returns; all that is shown, and take, are called from the caller's.
func (m *model) attend(ctx context.Context, from source, at string, take func(llm.Part) bool) error {
	within, cancel := context.WithCancel(ctx)
	parts, ended := make(chan llm.Part), make(chan error, 1)
	go func() {
		defer close(parts)
		ended <- m.guarded(within, "the session", func() error {
			return from(within, func(part llm.Part) bool {
				select {
				case parts <- part:
					return true
				case <-within.Done():
					return false
				}
			})
		})
	}()
	defer func() {
		cancel()
		for more := true; more; {
			_, more = <-parts // to its end
		}
	}()
	silence := firstSilence
	silent := time.NewTimer(silence)
	defer silent.Stop()
	var late <-chan time.Time
	for {
		select {
		case part, more := <-parts:
			if !more {
				return cmp.Or(<-ended, ctx.Err())
			}
			if late == nil && m.longest > 0 { //control:answer-clock
				clock := time.NewTimer(m.longest)
				defer clock.Stop()
				late, at = clock.C, pausing
			}
			if !take(part) {
				return nil
			}
			silence = firstSilence
			silent.Reset(silence)
		case <-silent.C:
			m.live(Live{Title: m.waitsFor(silence, at), Silent: silence}) //control:silence-is-said
			silent.Reset(silence)
			silence *= 2
		case <-late:
			return errLate
		}
	}
}

// waitsFor says what is waited for.
func (m *model) waitsFor(silence time.Duration, at string) string {
	name := m.llm.Name()
	if m.server != "" {
		name += " at " + m.server
	}
	took := fmt.Sprintf("%d s", int(silence.Seconds()))
	if silence >= time.Minute {
		took = fmt.Sprintf("%d min", int(silence.Minutes()))
	}
	return fmt.Sprintf("Waiting for the model server: no word for %s (%s; %s)", took, name, at)
}
