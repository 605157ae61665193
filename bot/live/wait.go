package live

import (
	"context"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// waiting lists the phases of a session that resumes by itself after an outage.
var waiting = []session.Phase{session.PhaseWaitingModel, session.PhaseWaitingGitHub, session.PhaseWaitingChecks}

// maxDeaths is the maximum number of processes that die one after the other during a
// session, without a model answer in between. Beyond it, the session counts as their
// cause.
const maxDeaths = 8

// Begin begins a run and reports whether the server has crashed too often during this
// session. A process dies at most once: one that lost a session and took it again is
// alive. A waiting session keeps its phase until it makes progress, so that its comment
// does not change with each try.
func (l *Session) Begin() (deadly bool) {
	if turns := int64(l.State.AllTurns()); turns > l.Data.DeadAt {
		l.Data.Begun, l.Data.DeadAt = nil, turns
	}
	me := l.cfg.Owner
	dead := slices.DeleteFunc(l.Data.Begun, func(p string) bool { return p == me }) //control:deaths-of-processes
	if len(dead) >= maxDeaths {                                                     //control:deadly-session
		return true
	}
	l.Data.Begun = append(dead, me)
	if slices.Contains(waiting, l.Row.State) {
		l.State.Phase = l.Row.State
		return false
	}
	l.State.Phase, l.Data.Shown, l.Data.Waits = session.PhaseRunning, "", 0
	return false
}

// EndCrashing ends a session that crashes the server, because it would stop all others with
// it.
func (l *Session) EndCrashing(ctx context.Context) error {
	l.Log.ErrorContext(ctx, "the server died at a session again and again", "session", l.Row.ID, "times", maxDeaths)
	l.Data.Begun = nil // a manual retry gets the full number
	if err := l.Save(ctx); err != nil {
		return err
	}
	out := session.Outcome{
		Status: session.StatusCrashed,
		Turns:  l.State.AllTurns(),
		Files:  l.State.Files,
		Reason: render.ServerDied(maxDeaths),
	}
	return l.Append(ctx, session.NewEvent(session.TypeEnded, l.State.Turns, session.Ended{Outcome: out}))
}

// maxWait is the maximum time between two checks whether an outage is over.
const maxWait = time.Minute

// Wait reports that the session waits, and schedules the next try. The thread is
// released meanwhile, so new requests are processed. went means that the progress
// comment has changed since the last wait.
func (l *Session) Wait(ctx context.Context, away *session.Away, went bool) error {
	l.Log.WarnContext(
		ctx, "session waits", "session", l.Row.ID, "thread", l.Row.Thread, "for",
		string(away.For),
		"err",
		away.Err,
	)
	if went {
		l.Data.Shown, l.Data.Waits = "", 0
	}
	l.State.Phase = away.For
	since := l.Row.Stall.Since
	if went || l.Row.State != away.For {
		since = l.cfg.Now().UTC()
	}
	l.Row.State = away.For
	l.Row.Stall = store.Stall{Since: since, Why: away.Why, Until: ghapp.LimitEnd(away.Err, l.cfg.Now()).UTC()}
	pause := min(l.cfg.Every<<min(l.Data.Waits, 10), maxWait)
	l.Data.Waits++
	p, err := l.Follow(ctx)
	if err != nil {
		return err
	}
	if err := p.Flush(ctx); err != nil {
		return err
	}
	if err := l.SaveState(ctx); err != nil {
		return err
	}
	return l.Wake(ctx, l.cfg.Now().Add(pause))
}

// CurrentPhase returns the phase of a session: that of its log, or a waiting phase if its
// last try met an outage.
func CurrentPhase(row *store.Session, v *session.State) session.Phase {
	if v.Phase == session.PhaseRunning && slices.Contains(waiting, row.State) && int64(v.AllTurns()) <= DataOf(row).DeadAt { //control:status-says-waiting
		return row.State
	}
	return v.Phase
}

// Unsettled lists the phases in which a session is queued, running or waiting.
var Unsettled = append([]session.Phase{session.PhaseQueued, session.PhaseRunning}, waiting...)

// Unfinished lists the phases of a session that has not ended for good.
var Unfinished = append(
	[]session.Phase{session.PhaseAwaitingApproval, session.PhaseAwaitingAnswer, session.PhaseOutOfBudget},
	Unsettled...)
