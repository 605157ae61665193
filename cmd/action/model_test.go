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
		wait(time.Hour)
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
