package bot

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/gitops"
)

// Temporary reports whether an error says nothing about the work itself, so
// that trying later can help however often it failed: GitHub or the network
// does not answer, another worker has the session, the disk is full.
func Temporary(err error) bool {
	var ge *ghapp.Error
	if errors.As(err, &ge) {
		return ge.Kind != ghapp.Permanent
	}
	var ne net.Error
	return errors.As(err, &ne) || errors.Is(err, gitops.ErrUnavailable) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, store.ErrHeld) || errors.Is(err, store.ErrFull) || errors.Is(err, session.ErrFenced) //control:outage-waits
}

// waitingFor are the states of a session that goes on by itself when something is
// back.
var waitingFor = []session.Phase{session.PhaseWaitingModel, session.PhaseWaitingGitHub}

// begin has the session run. One that waits for something does so until it is seen to
// go on: its comment does not change at each try.
func (l *leased) begin() {
	if slices.Contains(waitingFor, l.row.State) {
		l.state.Phase = l.row.State
		return
	}
	l.state.Phase, l.data.Shown, l.data.Waits = session.PhaseRunning, "", 0
}

// longestWait is the longest time between two looks at whether what a session waits
// for is back.
const longestWait = time.Minute

// wait says that the session waits for something, and has it looked at again in a
// while. The thread is free meanwhile: people are heard. The comment has changed
// since the last wait if went is true.
func (l *leased) wait(ctx context.Context, away *session.Away, went bool) error {
	l.log.WarnContext(ctx, "session waits", "session", l.row.ID, "thread", l.row.Thread, "for", string(away.For), "err", away.Err)
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
