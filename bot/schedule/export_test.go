package schedule

import (
	"context"
	"time"
)

// Nothing is for the tests.
var Nothing = isEmptyResult

// Learn is for the tests.
func (b Book) Learn(ctx context.Context, repo string, t Table, now time.Time) error {
	return b.learn(ctx, repo, t, now)
}
