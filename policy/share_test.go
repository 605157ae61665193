package policy

import (
	"testing"
	"time"
)

// What a session used on a day is what its totals grew by on that day.
func TestUsageOfADay(t *testing.T) {
	t.Parallel()
	var u Usage
	u = u.Advance(Limits{Turns: 2, Tokens: 100, Time: Duration(time.Second), Edits: 1, Lines: 4}, "2026-01-01")
	u = u.Advance(Limits{Turns: 3, Tokens: 150, Time: Duration(3 * time.Second), Edits: 1, Lines: 9}, "2026-01-01")
	if got, want := u.On("2026-01-01"), u.Total; got != want {
		t.Errorf("first day %+v, want all of %+v", got, want)
	}
	u = u.Advance(Limits{Turns: 7, Tokens: 180, Time: Duration(4 * time.Second), Edits: 2, Lines: 9}, "2026-01-02")
	if got, want := u.On("2026-01-02"), (Limits{Turns: 4, Tokens: 30, Time: Duration(time.Second), Edits: 1}); got != want {
		t.Errorf("second day %+v, want %+v", got, want)
	}
	if got := u.On("2026-01-01"); got != (Limits{}) {
		t.Errorf("the first day, seen from the second: %+v", got)
	}
}
