package outbox

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// Edits tracks edits with a lost answer.
type Edits struct {
	Settle time.Duration             // maximum delay until a lost edit takes effect
	unsure atomic.Pointer[time.Time] // end of that delay for the last one, on the clock that is never set back
}

// MarkLost records that the answer to an edit was lost.
func (e *Edits) MarkLost() {
	end := time.Now().Add(e.Settle)
	e.unsure.Store(&end)
}

// Wait waits until a lost edit can no longer take effect.
func (e *Edits) Wait(ctx context.Context) error {
	end := e.unsure.Load()
	if end == nil {
		return nil
	}
	return ghapp.Sleep(ctx, time.Until(*end))
}
