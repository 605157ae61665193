package action_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/action"
)

// A server that takes a request and says nothing was waited for all that time.
func TestModelIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, giveUp := context.WithCancelCause(t.Context())
		defer giveUp(nil)
		m := &action.ModelWait{For: 2 * time.Minute, GiveUp: giveUp}
		m.Event(session.Event{Type: session.TypePrompt})
		time.Sleep(5 * time.Minute) //nolint:forbidigo // of the bubble
		m.Failed(errors.New("silent"))
		var none *action.NoModel
		if err := context.Cause(ctx); !errors.As(err, &none) || none.For != 5*time.Minute {
			t.Errorf("after five minutes of silence: %v", err)
		}
	})
}

// A run is given up at a failure after its time, which begins anew with each answer.
func TestModelWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, giveUp := context.WithCancelCause(t.Context())
		defer giveUp(nil)
		m, refused := &action.ModelWait{For: 2 * time.Minute, GiveUp: giveUp}, errors.New("connection refused")
		wait := func(d time.Duration) {
			time.Sleep(d) //nolint:forbidigo // of the bubble
			m.Failed(refused)
		}
		m.Failed(refused)
		wait(119 * time.Second)
		m.Event(session.Event{Type: session.TypeNote})
		m.Event(session.Event{Type: session.TypeAnswer})
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble
		m.Event(session.Event{Type: session.TypeResult})
		wait(0)
		wait(119 * time.Second)
		if ctx.Err() != nil {
			t.Fatalf("given up early: %v", context.Cause(ctx))
		}
		wait(time.Second)
		var none *action.NoModel
		if err := context.Cause(ctx); !errors.As(err, &none) || !errors.Is(err, refused) || none.For != 2*time.Minute {
			t.Errorf("after two minutes: %v", err)
		}
	})
}
