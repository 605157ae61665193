package action

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/gitops"
)

// defaultDays is the default number of days to keep the ref of a closed thread, and
// maxSwept the maximum number of refs that a run checks.
const (
	defaultDays = 90
	maxSwept    = 5
	maxDays     = 36500 // longer times overflow a duration
)

// keepDays parses the input; 0 means for ever.
func keepDays(input string) (int, error) {
	if input == "" {
		return defaultDays, nil
	}
	n, err := strconv.Atoi(input)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("keep-days: %q is not a number of days; 0 keeps all", input)
	}
	return min(n, maxDays), nil
}

// Sweep deletes the refs of threads that are closed and inactive for KeepDays. Each run
// checks a few refs, but never that of here. Errors are only logged.
func (r Run) Sweep(ctx context.Context, c *ghapp.Client, m *gitops.Mirror, here thread.Ref, log *slog.Logger) {
	if r.KeepDays == 0 {
		return
	}
	refs, err := m.RemoteRefs(ctx, threadref.Prefix+"thread-")
	names := slices.Sorted(maps.Keys(refs))
	for i := range min(len(names), maxSwept) {
		name := names[(int(r.ID%int64(len(names)))+i)%len(names)]
		if name != Ref(threadref.Prefix, here) {
			err = errors.Join(err, r.sweep(ctx, c, m, gitops.Push{Ref: name, Old: refs[name]}))
		}
	}
	if err != nil {
		log.WarnContext(ctx, "sweep refs of threads that are over", "err", err)
	}
}

// sweep deletes a ref if its thread is over, unless the ref moved meanwhile.
func (r Run) sweep(ctx context.Context, c *ghapp.Client, m *gitops.Mirror, gone gitops.Push) error {
	number, err := strconv.Atoi(strings.TrimPrefix(gone.Ref, threadref.Prefix+"thread-"))
	if err != nil || number < 1 {
		return nil //nolint:nilerr // not one of ours
	}
	at := r.Repo
	at.Number = number
	is, err := c.Issue(ctx, at)
	var e *ghapp.Error
	deleted := errors.As(err, &e) && e.Status == http.StatusGone
	if err != nil && !deleted {
		return err
	}
	if !deleted && (is.State == "open" || time.Since(is.Updated) < time.Duration(r.KeepDays)*24*time.Hour) { //control:open-threads-are-kept
		return nil
	}
	return m.Push(ctx, gone)
}
