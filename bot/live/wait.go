package live

import (
	"context"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// waiting are the states of a session that goes on by itself when something is
// back.
var waiting = []session.Phase{session.PhaseWaitingModel, session.PhaseWaitingGitHub, session.PhaseWaitingChecks}

// mostDeaths is how often in a row the server may die at a session, without an answer
// of the model in between, before the session is taken for the reason.
const mostDeaths = 8

// Begin has the session run, and reports whether the server has died at it too often.
// A session that waits for something does so until it is seen to go on: its comment
// does not change at each try.
func (l *Session) Begin() (deadly bool) {
	if turns := int64(l.State.AllTurns()); turns > l.Data.DeadAt {
		l.Data.Deaths, l.Data.DeadAt = 0, turns
	}
	l.Data.Deaths++
	if l.Data.Deaths > mostDeaths { //control:deadly-session
		return true
	}
	if slices.Contains(waiting, l.Row.State) {
		l.State.Phase = l.Row.State
		return false
	}
	l.State.Phase, l.Data.Shown, l.Data.Waits = session.PhaseRunning, "", 0
	return false
}

// Died ends a session at which the server dies: it would take the others with it for
// ever.
func (l *Session) Died(ctx context.Context) error {
	l.Log.ErrorContext(ctx, "the server died at a session again and again", "session", l.Row.ID, "times", mostDeaths)
	l.Data.Deaths = 0 // a person who says retry has all of them
	if err := l.Save(ctx); err != nil {
		return err
	}
	out := session.Outcome{Status: session.StatusCrashed, Turns: l.State.AllTurns(), Files: l.State.Files, Reason: render.Died(mostDeaths)}
	return l.Append(ctx, session.NewEvent(session.TypeEnded, l.State.Turns, session.Ended{Outcome: out}))
}

// longestWait is the longest time between two looks at whether what a session waits
// for is back.
const longestWait = time.Minute

// Wait says that the session waits for something, and has it looked at again in a
// while. The thread is free meanwhile: people are heard. The comment has changed
// since the last wait if went is true.
func (l *Session) Wait(ctx context.Context, away *session.Away, went bool) error {
	l.Log.WarnContext(ctx, "session waits", "session", l.Row.ID, "thread", l.Row.Thread, "for", string(away.For), "err", away.Err)
	if went {
		l.Data.Shown, l.Data.Waits = "", 0
	}
	l.State.Phase = away.For
	pause := min(l.cfg.Every<<min(l.Data.Waits, 10), longestWait)
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

// Standing returns where a session stands: what its log says, or that it waits for
// something that was not back when it was looked for last.
func Standing(row *store.Session, v *session.State) session.Phase {
	if v.Phase == session.PhaseRunning && slices.Contains(waiting, row.State) && int64(v.AllTurns()) <= DataOf(row).DeadAt { //control:status-says-waiting
		return row.State
	}
	return v.Phase
}

// Unsettled are the states in which somebody works on a session, or should.
var Unsettled = append([]session.Phase{session.PhaseQueued, session.PhaseRunning}, waiting...)

// Unfinished are the states of a session that has not ended for good.
var Unfinished = append([]session.Phase{session.PhaseAwaitingApproval, session.PhaseAwaitingAnswer, session.PhaseOutOfBudget}, Unsettled...)
