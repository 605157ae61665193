package bot

import (
	"context"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

// leased is a session whose lease this worker has, and what is written for it
// under that lease. It implements [approval.Holder].
type leased struct {
	*worker
	fence store.Fence
	row   *store.Session
}

// Ensure implements [approval.Holder].
func (l leased) Ensure(ctx context.Context, w ghapp.Write) (ghapp.Ref, error) {
	return l.ensure(ctx, l.fence, w)
}

// Append implements [approval.Holder].
func (l leased) Append(ctx context.Context, events ...*session.Event) error {
	return l.cfg.Store.Logs.Log(l.fence).Append(ctx, events...)
}

// Stage implements [approval.Holder].
func (l leased) Stage(request string) approval.Stage { return recordOf(l.row).Reviews[request] }

// SetStage implements [approval.Holder].
func (l leased) SetStage(ctx context.Context, request string, s approval.Stage) error {
	r := recordOf(l.row)
	if r.Reviews == nil {
		r.Reviews = map[string]approval.Stage{}
	}
	r.Reviews[request] = s
	if err := r.put(l.row); err != nil {
		return err
	}
	return l.keep(ctx, l.fence, l.row)
}

// Wake implements [approval.Holder].
func (l leased) Wake(ctx context.Context, at time.Time) error {
	priority := store.PriorityIdle
	if at.IsZero() {
		priority = store.PriorityWork
	}
	return l.cfg.Store.Wakes.Wake(ctx, l.key, priority, at)
}
