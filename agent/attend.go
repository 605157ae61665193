package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// answerTime is the default limit of one answer, from its first word on.
const answerTime = 3 * time.Minute

// errLate means that an answer exceeded its time limit.
var errLate = errors.New("the answer took too long")

// firstSilence is the silence of the model's server after which the wait is reported.
// Further reports follow after twice the time each.
const firstSilence = 15 * time.Second

// Likely reasons for a silent server.
const (
	loading   = "it may be loading the model"
	answering = "it may be reading the prompt or serving another client"
	pausing   = "it may be serving another client"
)

// source passes the parts of a server's answer to yield, which returns false to stop.
type source func(ctx context.Context, yield func(llm.Part) bool) error

// parts returns the source of an answer.
func (m *model) parts(req llm.Request) source { return partsOf(m.llm, req) }

func partsOf(m llm.Model, req llm.Request) source {
	return func(ctx context.Context, yield func(llm.Part) bool) error {
		for part, err := range m.Stream(ctx, req) {
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

// attend passes the parts of a source to take until take returns false. While the server
// is silent, it reports the likely reason from time to time. An answer over its time
// limit ends with errLate. The source runs in a goroutine that has ended when attend
// returns; take and all reports are called from the caller's goroutine.
func (m *model) attend(ctx context.Context, from source, at string, take func(llm.Part) bool) error {
	within, cancel := context.WithCancel(ctx)
	parts, ended := make(chan llm.Part), make(chan error, 1)
	go func() {
		defer close(parts)
		ended <- m.guard(within, "the session", func() error {
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
			_, more = <-parts // drain, so that the goroutine can end
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
			if late == nil && m.maxAnswerTime > 0 { //control:answer-clock
				clock := time.NewTimer(m.maxAnswerTime)
				defer clock.Stop()
				late, at = clock.C, pausing
			}
			if !take(part) {
				return nil
			}
			silence = firstSilence
			silent.Reset(silence)
		case <-silent.C:
			//control:silence-is-said
			m.live(Live{Title: m.waitsFor(silence, at), Silent: silence, Stall: "its server says nothing; " + at})
			silent.Reset(silence)
			silence *= 2
		case <-late:
			return errLate
		}
	}
}

// waitsFor describes the wait for the server.
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
