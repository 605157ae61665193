package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/gitops"
)

// The first and the longest pause between requests to GitHub.
const (
	firstPause   = 2 * time.Second
	longestPause = 30 * time.Second
)

// Patient calls do until it succeeds or most has passed, while GitHub is unavailable or
// busy: no other run would take up the event. do may write if it looks first for an earlier write
// whose answer was lost. Patient writes the reason for each wait to w.
func Patient[T any](ctx context.Context, w io.Writer, most time.Duration, do func() (T, error)) (out T, err error) {
	ends := time.Now().Add(most)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		out, err = do()
		wait, passes := isTemporary(err)
		if wait = max(wait, pause); !passes || time.Now().Add(wait).After(ends) { //control:outages-are-waited-for
			return out, err
		}
		fmt.Fprintf(w, "GitHub cannot answer now; asking again in %s (%v).\n", wait, err)
		select {
		case <-ctx.Done():
			return out, errors.Join(err, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// isTemporary reports whether an error may pass without intervention, and the minimum wait.
func isTemporary(err error) (wait time.Duration, ok bool) {
	var e *ghapp.Error
	if !errors.As(err, &e) {
		return 0, errors.Is(err, gitops.ErrUnavailable)
	}
	busy := e.Status == 0 || e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError ||
		e.RetryAfter > 0
	return e.RetryAfter, busy && (e.Kind == ghapp.Temporary || e.Kind == ghapp.Unknown) //control:lost-answers-are-waited-for
}
