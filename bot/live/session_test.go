package live

import (
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy"
)

// TestOpenApprovals: a row tells the number of open requests, and the time of the oldest;
// questions are none.
func TestOpenApprovals(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	asks := func(id string, kind session.AskKind) *session.Event {
		return session.NewEvent(session.TypeAsked, 1, session.Asked{ID: id, Kind: kind, Call: "call-" + id})
	}
	events := []*session.Event{
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s", Text: "Sort."}}),
		asks("a1", session.AskApproval), asks("a2", session.AskApproval), asks("a3", session.AskQuestion), asks("a4", session.AskApproval),
		session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "a1", Verdict: policy.Denied}),
	}
	for i, e := range events {
		e.Seq, e.Time = int64(i+1), at.Add(time.Duration(i)*time.Minute)
	}
	for _, tt := range []struct {
		events int
		n      int
		since  time.Time
	}{{1, 0, time.Time{}}, {5, 3, at.Add(time.Minute)}, {6, 2, at.Add(2 * time.Minute)}} {
		v := session.NewState()
		for _, e := range events[:tt.events] {
			payload, err := session.Payload(*e)
			if err != nil {
				t.Fatal(err)
			}
			v.Take(*e, payload)
		}
		if n, since := openApprovals(v); n != tt.n || !since.Equal(tt.since) {
			t.Errorf("after %d events: %d since %s", tt.events, n, since)
		}
	}
}

// TestCheckOfTheCommitRead: the check run of a finished review is on the commit that was read, also
// if the branch has moved since. Other sessions show their state on the head.
func TestCheckOfTheCommitRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode string
		end  session.Status
		want string
	}{
		"finished review": {"review", session.StatusReviewed, "read"},
		"failed review":   {"review", session.StatusFailed, "read"},
		"running review":  {"review", "", "moved"},
		"finished change": {"code", session.StatusDone, "moved"},
	} {
		v := session.NewState()
		v.Task.Mode, v.Published = tt.mode, "read"
		if tt.end != "" {
			v.Outcome = &session.Outcome{Status: tt.end}
		}
		l := Session{Thread: &Thread{Pull: &ghapp.Pull{HeadSHA: "moved"}}, State: v}
		if got := l.head(); got != tt.want {
			t.Errorf("%s: the check is on %q, want %q", name, got, tt.want)
		}
	}
}
