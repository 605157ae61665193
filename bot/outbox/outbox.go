// Package outbox sends writes to GitHub exactly once: under a lease, and recorded
// before the first attempt.
package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Intent returns the record of a write. A write without a thread number is for at.
func Intent(wr ghapp.Write, at thread.Ref, now time.Time) *store.Intent {
	if wr.Thread.Number == 0 {
		wr.Thread = at
	}
	wr.Since = now.Add(-time.Hour) // tolerance for clock differences
	payload, err := json.Marshal(wr)
	if err != nil {
		panic(fmt.Sprintf("outbox: marshal write: %v", err)) // cannot fail: strings and numbers only
	}
	return &store.Intent{Key: wr.Key, Kind: string(wr.Kind), Payload: payload}
}

// Outbox makes writes to GitHub under one lease.
type Outbox struct {
	Store  store.Intents
	Fence  store.Fence
	At     thread.Ref
	Client *ghapp.Client
	Settle time.Duration // maximum delay until a lost write becomes visible
	Now    func() time.Time
	Log    *slog.Logger
}

// Finish carries out the open intents of the leased session, oldest first. An intent
// that was sent without an answer is looked up, and sent again only if it is still
// missing after the settle time.
func (e Outbox) Finish(ctx context.Context) error {
	open, err := e.Store.Open(ctx, e.Fence.Key)
	if err != nil {
		return fmt.Errorf("read intents: %w", err)
	}
	for _, in := range open {
		_, err := e.Perform(ctx, in)
		if ghapp.UnlessRefused(err) == nil || e.Later(ctx, in.Kind, err) && in.Attempts < maxTries {
			continue
		}
		if e.Later(ctx, in.Kind, err) {
			err = ghapp.UnlessRefused(e.refused(ctx, in, err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// NextRetry returns the time of the next attempt at a deferred write, or zero if there is
// none. The pause doubles from a second to five minutes.
func (e Outbox) NextRetry(ctx context.Context) (time.Time, error) {
	open, err := e.Store.Open(ctx, e.Fence.Key)
	if err != nil {
		return time.Time{}, fmt.Errorf("read intents: %w", err)
	}
	var first time.Time
	for _, in := range open {
		at := e.Now().Add(min(5*time.Minute, time.Second<<min(in.Attempts, 10)))
		if settled := e.Now().Add(e.settling(in)); at.Before(settled) {
			at = settled
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first, nil
}

// maxTries is the maximum number of attempts at a deferrable write.
const maxTries = 20

// deferrable lists the deferrable kinds of writes: if GitHub is unavailable, the work
// continues without them.
var deferrable = []ghapp.WriteKind{
	ghapp.WriteLabels,
	ghapp.WriteReviewers,
	ghapp.WriteReaction,
	ghapp.WriteCheck,
	ghapp.WriteResolve,
}

// Later reports whether a write of this kind is deferred because of err. The work
// continues then, and [Outbox.Finish] retries the write.
func (e Outbox) Later(ctx context.Context, kind string, err error) bool {
	later := err != nil && ctx.Err() == nil && ghapp.KindOf(err) != ghapp.Permanent && slices.Contains(deferrable, ghapp.WriteKind(kind)) //control:nothing-waits-for-labels
	if later {
		e.Log.WarnContext(ctx, "left for later", "thread", e.At.Key(), "kind", kind, "err", err)
	}
	return later
}

// errUnsettled means that the answer to a write was lost, and that the write may still
// arrive.
var errUnsettled = &ghapp.Error{
	Op:   "look for a write",
	Kind: ghapp.Temporary,
	Err:  errors.New("its answer was lost a moment ago"),
}

// Ensure carries out a write exactly once and returns its result. The error is a
// [ghapp.Refusal] if GitHub will never accept the write.
func (e Outbox) Ensure(ctx context.Context, wr ghapp.Write) (ghapp.Ref, error) {
	in := Intent(wr, e.At, e.Now())
	in.Session = e.Fence.Key
	if err := e.Store.Intend(ctx, e.Fence, in); err != nil {
		return ghapp.Ref{}, fmt.Errorf("record intent: %w", err)
	}
	return e.Perform(ctx, *in)
}

// Try is [Outbox.Ensure] for an optional write: a refusal is no error.
func (e Outbox) Try(ctx context.Context, wr ghapp.Write) error {
	_, err := e.Ensure(ctx, wr)
	return ghapp.UnlessRefused(err)
}

// Perform carries out an intent, unless it is already done.
func (e Outbox) Perform(ctx context.Context, in store.Intent) (ghapp.Ref, error) {
	var wr ghapp.Write
	if err := json.Unmarshal(in.Payload, &wr); err != nil {
		return ghapp.Ref{}, e.refused(ctx, in, err)
	}
	wr.Thread.Owner, wr.Thread.Repo = e.At.Owner, e.At.Repo // the repository may have been renamed
	switch in.State {
	case store.Done:
		return RefOf(in), nil
	case store.Failed:
		return e.postOnThread(ctx, in, wr, &ghapp.Refusal{Reason: in.Reason})
	case store.Attempted:
		if slices.Contains(deferrable, wr.Kind) && e.settling(in) > 0 {
			return ghapp.Ref{}, errUnsettled // deferrable: do not block
		}
		ref, ok, err := e.lookUp(ctx, in, wr)
		switch {
		case errors.Is(err, ghapp.ErrNotFound):
			return e.postOnThread(ctx, in, wr, e.refused(ctx, in, err))
		case err != nil:
			return ref, err
		case ok:
			return ref, e.done(ctx, in.Key, ref)
		}
	}
	if _, err := e.Store.Attempted(ctx, e.Fence, in.Key, e.Now().Add(e.Settle)); err != nil {
		return ghapp.Ref{}, fmt.Errorf("record attempt: %w", err)
	}
	var ref ghapp.Ref
	err := fault.Guarded(ctx, e.Log, "write "+in.Key, func() (err error) {
		ref, err = e.Client.Perform(ctx, wr)
		return err
	})
	switch {
	case err == nil:
		return ref, e.done(ctx, in.Key, ref)
	case ghapp.KindOf(err) == ghapp.Permanent, fault.Is(err):
		return e.postOnThread(ctx, in, wr, e.refused(ctx, in, err))
	}
	return ref, fmt.Errorf("write %s: %w", wr.Kind, err)
}

// postOnThread posts a refused reply on the diff as a comment on the thread, so that its text
// is not lost. For any other write it returns cause.
func (e Outbox) postOnThread(ctx context.Context, in store.Intent, wr ghapp.Write, cause error) (ghapp.Ref, error) {
	var no *ghapp.Refusal
	if wr.Kind != ghapp.WriteReply || !errors.As(cause, &no) { //control:answer-not-lost
		return ghapp.Ref{}, cause
	}
	wr.Key, wr.Kind, wr.Target = wr.Key+"-below", ghapp.WriteComment, ghapp.Target{}
	next := Intent(wr, e.At, e.Now())
	next.Session = in.Session
	if err := e.Store.Intend(ctx, e.Fence, next); err != nil {
		return ghapp.Ref{}, fmt.Errorf("record intent: %w", err)
	}
	return e.Perform(ctx, *next)
}

// lookUp asks GitHub whether a sent write has happened. It accepts a negative answer
// only after the settle time.
func (e Outbox) lookUp(ctx context.Context, in store.Intent, wr ghapp.Write) (ghapp.Ref, bool, error) {
	ref, ok, err := e.Client.Find(ctx, wr)
	if err != nil || ok {
		return ref, ok, err
	}
	wait := e.settling(in)
	if wait <= 0 {
		return ref, false, nil
	}
	if err := ghapp.Sleep(ctx, wait); err != nil {
		return ref, false, err
	}
	return e.Client.Find(ctx, wr)
}

// settling returns the time until a write whose answer was lost is visible if it happened. The
// clock may have been set back since.
func (e Outbox) settling(in store.Intent) time.Duration {
	return min(in.NotBefore.Sub(e.Now()), e.Settle) //control:settles-in-time
}

func (e Outbox) done(ctx context.Context, key string, ref ghapp.Ref) error {
	text, err := json.Marshal(ref)
	if err != nil {
		return err
	}
	if err := e.Store.Done(ctx, e.Fence, key, string(text)); err != nil {
		return fmt.Errorf("record effect: %w", err)
	}
	return nil
}

// refused gives up a write that GitHub will never accept, and logs it for the operator.
// The work continues: the target may have been deleted.
func (e Outbox) refused(ctx context.Context, in store.Intent, cause error) error {
	e.Log.ErrorContext(ctx, "write refused", "thread", e.At.Key(), "kind", in.Kind, "key", in.Key, "err", cause)
	why := cause.Error()
	if told := (fault.UserError{}); errors.As(fault.InWords(cause), &told) {
		why = told.Text
	}
	if err := e.Store.Failed(ctx, e.Fence, in.Key, why); err != nil {
		return err
	}
	return &ghapp.Refusal{Reason: why}
}

// RefOf returns the result of a completed intent.
func RefOf(in store.Intent) ghapp.Ref {
	var ref ghapp.Ref
	if json.Unmarshal([]byte(in.Ref), &ref) != nil {
		return ghapp.Ref{}
	}
	return ref
}
