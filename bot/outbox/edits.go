package outbox

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// Edits knows of edits whose answer was lost.
type Edits struct {
	Settle time.Duration // how long one may take to come all the same
	unsure atomic.Int64  // until when one may, in microseconds since 1970
}

// Lost notes that the answer to one is lost.
func (e *Edits) Lost() { e.unsure.Store(time.Now().Add(e.Settle).UnixMicro()) }

// Wait waits until a lost edit must have come.
func (e *Edits) Wait(ctx context.Context) error {
	return ghapp.Sleep(ctx, time.Until(time.UnixMicro(e.unsure.Load())))
}
