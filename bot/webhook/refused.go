package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/bot/quota"
)

// refusals logs refused requests, up to a limit per second: the endpoint is public. The
// rest is counted.
type refusals struct {
	log *slog.Logger

	mu     sync.Mutex
	bucket quota.Bucket
	left   int
}

const refusedPerSecond = 5

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{log: log, bucket: quota.Bucket{Size: refusedPerSecond, Per: time.Second}}
}

// warn logs one refusal, or counts it. The first counted one schedules a log entry with
// the count a second later.
func (r *refusals) warn(ctx context.Context, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.bucket.Wait(now, "", 0) > 0 { //control:refusals-logged
		if r.left++; r.left == 1 {
			time.AfterFunc(time.Second, r.count)
		}
		return
	}
	r.bucket.Take(now, "")
	r.log.WarnContext(ctx, "refused delivery", args...)
}

func (r *refusals) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Warn("refused deliveries that are not logged one by one", "count", r.left)
	r.left = 0
}
