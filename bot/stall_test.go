package bot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// row returns the row of the thread's session.
func (w *world) row() *store.Session {
	w.t.Helper()
	row, err := w.store.Sessions.ByThread(w.t.Context(), w.issue.Key())
	must(w.t, err)
	return row
}

// TestStall: the row of a session tells why it stands still, and since when, while it runs
// and between two tries; an answer of the model ends the wait.
func TestStall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	why := func(want string) (since time.Time) {
		t.Helper()
		row := w.row()
		if row.Stall.Why != want || row.Stall.Since.IsZero() || time.Since(row.Stall.Since) > time.Minute {
			t.Errorf("%s: stalls %+v, want %q", row.State, row.Stall, want)
		}
		return row.Stall.Since
	}
	const loading = "the model is still being loaded"
	tries := 0
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		away := &session.Away{For: session.PhaseWaitingModel, Why: loading, Err: errors.New("503")}
		switch tries++; tries {
		case 1, 2:
			return session.Outcome{}, away
		case 4:
			_, err := work.Shares(ctx, policy.Limits{Turns: 1})
			must(t, err)
			if why(""); w.row().State != session.PhaseRunning {
				t.Errorf("the model has answered, and the session is %q", w.row().State)
			}
			return finish("It is mended.")(ctx, work)
		}
		work.Stall("it may be loading the model")
		silent := why("it may be loading the model")
		version := w.row().Version
		work.Stall("it may be loading the model")
		if row := w.row(); row.Version != version {
			t.Error("the same reason is recorded twice")
		}
		if work.Stall("the model server is busy"); !why("the model server is busy").Equal(silent) {
			t.Error("another reason begins another wait")
		}
		work.Stall("")
		if why(""); w.row().State != session.PhaseRunning {
			t.Errorf("the model answers, and the session is %q", w.row().State)
		}
		return session.Outcome{}, away
	}
	w.say("/agent fix it")
	must(t, w.work())
	first := why(loading)
	if row := w.row(); row.State != session.PhaseWaitingModel {
		t.Errorf("the session is %q", row.State)
	}
	must(t, w.work())
	if again := why(loading); !again.Equal(first) {
		t.Errorf("the second try begins the wait anew: %s, %s", first, again)
	}
	must(t, w.work())
	why(loading)
	must(t, w.work())
	if why(""); w.row().State != session.PhaseDone {
		t.Errorf("the session is %q", w.row().State)
	}
}

// TestLimitIsKept: the row of a session that waits for a rate limit of GitHub's tells its end.
func TestLimitIsKept(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	reset := time.Now().Add(40 * time.Minute).Truncate(time.Second)
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		w.gh.SetRateLimit(0, reset)
		return finish("It is mended.")(ctx, work)
	}
	w.say("/agent fix it")
	for range 2 {
		if err := w.work(); err == nil {
			t.Error("GitHub's limit stops nothing")
		}
		if row := w.row(); row.State != session.PhaseWaitingGitHub || !row.Stall.Until.Equal(reset) || row.Stall.Since.IsZero() {
			t.Errorf("%s: stalls %+v, want until %s", row.State, row.Stall, reset)
		}
	}
	w.gh.SetRateLimit(5000, reset)
}
