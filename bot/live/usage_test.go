package live

import (
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// The time that a session waits for others at the model is not its own, also where it
// is stopped while it waits.
func TestWaitingIsNotUsed(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	l := &Session{Row: &store.Session{}, cfg: &Config{Now: func() time.Time { return now }}}
	used := func(u *Use, want time.Duration) {
		t.Helper()
		u.note(policy.Limits{})
		if got := time.Duration(u.Data.Used.Total.Time); got != want {
			t.Errorf("used %s, want %s", got, want)
		}
	}
	u := l.BeginUse()
	for _, before := range []int{3, 2, 0} {
		now = now.Add(time.Minute)
		u.Waiting(before)
	}
	used(u, time.Minute)
	now = now.Add(time.Minute)
	used(u, 2*time.Minute)
	u.Waiting(1)
	now = now.Add(time.Hour)
	used(u, 2*time.Minute)
	u = l.BeginUse()
	now = now.Add(time.Minute)
	used(u, 3*time.Minute)
}
