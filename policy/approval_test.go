package policy

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// Which word may follow which: everything that is not named here changes
// nothing.
func TestApprovalWords(t *testing.T) {
	all := []ApprovalState{"", Pending, Approved, Answered, Denied, Withdrawn, Expired, Stale, Begun, Used, "nonsense"}
	next := map[ApprovalState]string{
		Pending:  " approved answered denied withdrawn expired stale ",
		Approved: " denied withdrawn stale ",
		Begun:    " denied withdrawn stale ",
	}
	steps := 0
	for _, from := range all {
		for _, word := range all {
			a := OpenApproval("a1", "d1", time.Time{})
			a.State = from
			want := from
			if word != "" && strings.Contains(next[from], " "+string(word)+" ") {
				want = word
			}
			if got := a.Settle(word); got.State != want || got.ID != "a1" || got.Digest != "d1" {
				t.Errorf("%q, then %q: %+v, want %q", from, word, got, want)
			}
			steps++
		}
		a := Approval{Digest: "d1", State: from}
		if a.IsApproved() != (from == Approved) || a.IsPending() != (from == Pending) {
			t.Errorf("%q stands: %t, waits: %t", from, a.IsApproved(), a.IsPending())
		}
		if begun := a.Begin().State; begun != from && (from != Approved || begun != Begun) {
			t.Errorf("%q begins and is %q", from, begun)
		}
		yes := from == Approved || from == Begun
		if used := a.Finish().State; yes && used != Used || !yes && used != from {
			t.Errorf("%q finishes and is %q", from, used)
		}
	}
	if steps != 11*11 {
		t.Errorf("%d steps looked at", steps)
	}
}

// A yes is for one digest, once.
func TestApprovalIsForOneAction(t *testing.T) {
	yes := OpenApproval("a1", "d1", time.Time{}).Settle(Approved)
	for name, tt := range map[string]struct {
		a      Approval
		digest string
		want   bool
	}{
		"approved":           {yes, "d1", true},
		"something else":     {yes, "d2", false},
		"no digest at all":   {Approval{State: Approved}, "", false},
		"not answered":       {OpenApproval("a1", "d1", time.Time{}), "d1", false},
		"cut off, again":     {yes.Begin(), "d1", false},
		"used":               {yes.Begin().Finish(), "d1", false},
		"denied afterward":   {yes.Settle(Denied), "d1", false},
		"denied, cut off":    {yes.Begin().Settle(Denied), "d1", false},
		"approved once more": {yes.Settle(Denied).Settle(Approved), "d1", false},
		"zero":               {Approval{}, "", false},
	} {
		if got := tt.a.IsApproved() && tt.a.IsFor(tt.digest); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

func TestApprovalDeadline(t *testing.T) {
	a := OpenApproval("a1", "d1", noon)
	for name, tt := range map[string]struct {
		a    Approval
		now  time.Time
		want bool
	}{
		"before":          {a, noon.Add(-time.Nanosecond), false},
		"at":              {a, noon, true},
		"after":           {a, noon.Add(time.Hour), true},
		"no deadline":     {OpenApproval("a1", "d1", time.Time{}), noon, false},
		"answered":        {a.Settle(Approved), noon.Add(time.Hour), false},
		"already settled": {a.Settle(Expired), noon.Add(time.Hour), false},
	} {
		if got := tt.a.IsOverdue(tt.now); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
