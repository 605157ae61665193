package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// AwaitGitHub records in the row that the session waits for GitHub, if cause is an
// outage of GitHub. The thread cannot be told now; the queue retries.
func (l *Session) AwaitGitHub(ctx context.Context, cause error) error {
	waits, until := l.Row.State == session.PhaseWaitingGitHub, ghapp.LimitEnd(cause, l.cfg.Now()).UTC()
	if !fault.OfGitHub(cause) || ctx.Err() != nil || waits && (until.IsZero() || until.Equal(l.Row.Stall.Until)) ||
		!slices.Contains(Unsettled, l.Row.State) {
		return cause
	}
	if !waits {
		l.Row.State = session.PhaseWaitingGitHub //control:waits-for-github
		l.Row.Stall = store.Stall{Since: l.cfg.Now().UTC()}
	}
	l.Row.Stall.Until = until //control:limit-is-kept
	if l.State != nil {
		l.Data.DeadAt = int64(l.State.AllTurns())
	}
	err := l.Save(ctx)
	l.Log.WarnContext( // after it can be seen
		ctx, "session waits", "session", l.Row.ID, "thread", l.Row.Thread, "for",
		string(session.PhaseWaitingGitHub),
		"err",
		cause,
	)
	return errors.Join(cause, err)
}

// EndWith ends a session whose thread cannot be written to, unless it is already over.
// The reason goes to the log.
func (l *Session) EndWith(ctx context.Context, status session.Status, why string) error {
	if err := l.Reload(ctx); err != nil || l.Row.State.Over() {
		return err
	}
	var events []*session.Event
	for _, a := range l.State.Open() {
		events = append(
			events,
			session.NewEvent(
				session.TypeResolved,
				l.State.Turns,
				session.Resolved{ID: a.ID, Verdict: policy.Withdrawn, Reason: why},
			),
		)
	}
	out := session.Outcome{Status: status, Turns: l.State.AllTurns(), Files: l.State.Files, Reason: why}
	events = append(events, session.NewEvent(session.TypeEnded, l.State.Turns, session.Ended{Outcome: out}))
	if err := l.Append(ctx, events...); err != nil {
		return err
	}
	if err := l.Reload(ctx); err != nil {
		return err
	}
	l.Log.InfoContext(ctx, "session ended", "session", l.Row.ID, "thread", l.Row.Thread, "why", why)
	return l.SaveState(ctx)
}

// maxTries is the maximum number of consecutive runs that fail for a possibly
// temporary reason, without a new answer of the model in between.
const maxTries = 5

// final is an error that a retry cannot fix.
type final interface{ Final() bool }

// Failed ends a session with cause, unless a retry may help or another worker has taken
// it over.
func (l *Session) Failed(ctx context.Context, cause error) error {
	if ctx.Err() != nil || fault.Temporary(cause) {
		return cause
	}
	if err := l.Reload(ctx); err != nil {
		return errors.Join(cause, err)
	}
	v := l.State
	if v.Outcome != nil { // the end is recorded; a later step failed
		return nil
	}
	var end final
	if !errors.As(cause, &end) || !end.Final() {
		again, err := l.tryAgain(ctx)
		if err != nil || again {
			return errors.Join(cause, err)
		}
	}
	l.Log.ErrorContext(ctx, "session failed", "session", l.Row.ID, "err", cause)
	status := session.StatusFailed
	if fault.Is(cause) {
		status = session.StatusCrashed
	}
	out := session.Outcome{
		Status: status,
		Turns:  v.AllTurns(),
		Files:  v.Files,
		Reason: render.CouldNotGoOn(fault.InWords(cause)),
	}
	return l.Append(ctx, session.NewEvent(session.TypeEnded, v.Turns, session.Ended{Outcome: out}))
}

// tryAgain counts consecutive failures, across restarts, and reports whether another
// try is left.
func (l *Session) tryAgain(ctx context.Context) (bool, error) {
	r, turns := &l.Data, int64(l.State.AllTurns())
	//control:begun-is-no-progress
	if turns > r.TriesAt { // a restarted call is no progress
		r.Tries = 0
	}
	r.Tries, r.TriesAt = r.Tries+1, turns
	again := r.Tries < maxTries
	if !again {
		r.Tries = 0 // a manual retry gets the full number
	}
	return again, l.SaveState(ctx)
}

// EndFaulty ends a session that can do nothing more than report the fault. It does not
// read the log, which may itself be unreadable.
func (l *Session) EndFaulty(ctx context.Context, cause error) error {
	phase, status, turns, seq := session.PhaseCrashed, session.StatusCrashed, 0, int64(0)
	if l.State != nil {
		turns, seq = l.State.Turns, l.State.Seq
	}
	switch {
	case l.State != nil && l.State.Over():
		phase, status = l.State.Phase, l.State.Outcome.Status
	case l.Row.State != phase:
		out := session.Outcome{Status: status, Turns: turns, Reason: render.CouldNotGoOn(cause)}
		if err := l.Append(ctx, session.NewEvent(session.TypeEnded, turns, session.Ended{Outcome: out})); err != nil {
			return err
		}
		seq++
	}
	var whom []string // no lookup here: it could fail
	if l.Data.Person {
		whom = []string{l.Row.Requester}
	}
	key := fmt.Sprintf("fault-%s-%d", l.Row.ID, seq)
	if err := l.Try(ctx, ghapp.Write{
		Key:      key,
		Kind:     ghapp.WriteComment,
		Mentions: whom,
		Body:     render.Ended(phase, cause),
	}); err != nil {
		return err
	}
	l.Row.State, l.Row.Status = phase, status
	return l.Save(ctx)
}

// EndIfForbidden ends a session if the server no longer allows its mode or its model. It
// reports whether it did.
func (l *Session) EndIfForbidden(ctx context.Context) (bool, error) {
	v := l.State
	err := l.config().Permits(policy.Choice{Mode: cmp.Or(v.ModeName(), "code"), Model: v.ModelName()})
	var no *policy.NotAllowed
	if !errors.As(err, &no) {
		return false, err
	}
	no.Named = true
	out := session.Outcome{Status: session.StatusFailed, Turns: v.AllTurns(), Files: v.Files, Reason: render.NoLonger(no)}
	return true, l.Append(ctx, session.NewEvent(session.TypeEnded, v.Turns, session.Ended{Outcome: out}))
}
