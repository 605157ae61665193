package outbox

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// Edits tracks edits with a lost answer.
type Edits struct {
	Settle time.Duration // maximum delay until a lost edit takes effect
	unsure atomic.Int64  // end of that delay for the last one, in Unix microseconds
}

// MarkLost records that the answer to an edit was lost.
func (e *Edits) MarkLost() { e.unsure.Store(time.Now().Add(e.Settle).UnixMicro()) }

// Wait waits until a lost edit can no longer take effect.
func (e *Edits) Wait(ctx context.Context) error {
	return ghapp.Sleep(ctx, time.Until(time.UnixMicro(e.unsure.Load())))
}
