package bot

import (
	"context"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/render"
)

// waitingFor are the states of a session that goes on by itself when something is
// back.
var waitingFor = []session.Phase{session.PhaseWaitingModel, session.PhaseWaitingGitHub}

// mostDeaths is how often in a row the server may die at a session, without an answer
// of the model in between, before the session is taken for the reason.
const mostDeaths = 8

// begin has the session run, and reports whether the server has died at it too often.
// A session that waits for something does so until it is seen to go on: its comment
// does not change at each try.
func (l *leased) begin() (deadly bool) {
	if turns := int64(l.state.Turns); turns > l.data.DeadAt {
		l.data.Deaths, l.data.DeadAt = 0, turns
	}
	l.data.Deaths++
	if l.data.Deaths > mostDeaths { //control:deadly-session
		return true
	}
	if slices.Contains(waitingFor, l.row.State) {
		l.state.Phase = l.row.State
		return false
	}
	l.state.Phase, l.data.Shown, l.data.Waits = session.PhaseRunning, "", 0
	return false
}

// died ends a session at which the server dies: it would take the others with it for
// ever.
func (l *leased) died(ctx context.Context) error {
	l.Log.ErrorContext(ctx, "the server died at a session again and again", "session", l.row.ID, "times", mostDeaths)
	l.data.Deaths = 0 // a person who says retry has all of them
	if err := l.save(ctx); err != nil {
		return err
	}
	out := session.Outcome{Status: session.StatusCrashed, Turns: l.state.Turns, Files: l.state.Files, Reason: render.Died(mostDeaths)}
	return l.Append(ctx, session.NewEvent(session.TypeEnded, l.state.Turns, session.Ended{Outcome: out}))
}

// longestWait is the longest time between two looks at whether what a session waits
// for is back.
const longestWait = time.Minute

// wait says that the session waits for something, and has it looked at again in a
// while. The thread is free meanwhile: people are heard. The comment has changed
// since the last wait if went is true.
func (l *leased) wait(ctx context.Context, away *session.Away, went bool) error {
	l.Log.WarnContext(ctx, "session waits", "session", l.row.ID, "thread", l.row.Thread, "for", string(away.For), "err", away.Err)
	if went {
		l.data.Shown, l.data.Waits = "", 0
	}
	l.state.Phase = away.For
	pause := min(l.cfg.Every<<min(l.data.Waits, 10), longestWait)
	l.data.Waits++
	p, err := l.follow(ctx)
	if err != nil {
		return err
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	if err := l.saveState(ctx); err != nil {
		return err
	}
	return l.Wake(ctx, l.cfg.Now().Add(pause))
}
