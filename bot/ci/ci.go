// Package ci judges the checks of a commit for the session that made it: whether they
// have completed, which ones the session must fix, and which part of a log explains a
// failure. It also continues the session to fix them.
//
//	ci.go    facts in, decision out
//	log.go   the relevant part of a log
//	look.go  reads the facts
//	mend.go  continues a session
//	green.go ends the draft of its pull request
package ci

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy"
)

// mendCheck is one check of a commit.
type mendCheck = reads.Check

// Tool is the name of the tool that waits for checks.
const Tool = "wait_for_checks"

// NoneAfter is the time after which a commit without checks is expected to get none.
const NoneAfter = 10 * time.Minute

// Longest returns the maximum time to wait for running checks.
func Longest(l policy.CIFix) time.Duration { return cmp.Or(time.Duration(l.Wait), 6*time.Hour) }

// Facts describe a commit and the work on it.
type Facts struct {
	Head []reads.Check // checks of the commit, every attempt, without the agent's own
	Base []reads.Check // likewise, of the commit that the pull request is based on

	Attempts, OfHead int // rounds of fixes since a user's last message, and for this commit
	Limits           policy.CIFix

	Now time.Time // zero if the duration of checks does not matter
}

// Verdict is the result of judging the checks of a commit.
type Verdict struct {
	Green   []string      // names of successful checks
	Running []string      // names of checks that have not ended
	Stuck   []string      // names of checks that run too long
	Failed  []reads.Check // checks for the session to fix
	Excused []string      // failures that are not the session's, with the reason

	Mend   bool // the session is to go on
	UsedUp bool // it would go on, but its attempts are used up
}

// failing are the states of checks that need action.
var failing = []string{"failure", "timed_out", "startup_failure", "error"}

// Decide judges the checks. It waits for running ones, so that the session learns of all
// failures at once.
func Decide(f Facts) Verdict {
	var v Verdict
	base := map[string]bool{}
	for _, c := range newest(f.Base) {
		base[nameOf(c)] = slices.Contains(failing, c.State)
	}
	for _, c := range newest(f.Head) {
		switch {
		case c.Running() && f.stuck(c): //control:stuck-checks
			v.Stuck = append(v.Stuck, c.Name)
		case c.Running():
			v.Running = append(v.Running, c.Name)
		case c.State == "success":
			v.Green = append(v.Green, c.Name)
		case c.State == "cancelled":
			v.Excused = append(v.Excused, c.Name+": it was cancelled")
		case !slices.Contains(failing, c.State): // neutral, skipped, stale, or waiting for an approval
		case greenElsewhere(f.Head, c): //control:flaky-checks
			v.Excused = append(v.Excused, c.Name+": another run of it on this commit was green")
		case base[nameOf(c)]: //control:checks-of-the-base
			v.Excused = append(v.Excused, c.Name+": it fails on the base as well")
		default:
			v.Failed = append(v.Failed, c)
		}
	}
	if len(v.Failed) == 0 || len(v.Running) > 0 {
		return v
	}
	most, perHead := cmp.Or(f.Limits.Attempts, 3), cmp.Or(f.Limits.PerHead, 1)
	v.UsedUp = f.Attempts >= most            //control:attempts-of-checks
	v.Mend = !v.UsedUp && f.OfHead < perHead //control:attempts-of-a-head
	return v
}

// Ended reports whether an event says that a check of a commit has completed.
func Ended(ev ghapp.Event) bool {
	over := ev.Kind == "status" && ev.Check.Status == "completed" ||
		ghapp.UseOf(ev.Kind) == ghapp.Checks && ev.Action == "completed"
	return over && ev.Check.SHA != "" && ev.Thread.Repo != ""
}

// Off returns the reason why checks do not continue a session, or "".
func Off(t policy.Triggers) string {
	if t.Checks == nil || !*t.Checks { //control:checks-are-off
		return "checks bring a session back only where triggers.checks is on"
	}
	return ""
}

// stuck reports whether a check has run for the maximum time. A status has only the time
// at which it was set.
func (f Facts) stuck(c reads.Check) bool {
	began := c.Started
	if began.IsZero() {
		began = c.Completed
	}
	return !f.Now.IsZero() && !began.IsZero() && f.Now.Sub(began) >= Longest(f.Limits)
}

// Waits reports whether to go on waiting for the checks of a commit, given the start of
// the wait.
func Waits(f Facts, since time.Time) bool {
	waited, most := f.Now.Sub(since), Longest(f.Limits)
	if len(f.Head) == 0 {
		return waited < min(NoneAfter, most) //control:no-check-is-none
	}
	return len(Decide(f).Running) > 0 && waited < most //control:checks-are-not-awaited-for-ever
}

// nameOf returns the name of a check, which is the same on every commit.
func nameOf(c reads.Check) string { return c.App + "/" + c.Name }

// newest returns the newest attempt of each check in each suite, sorted by name.
func newest(all []reads.Check) (out []reads.Check) {
	at := map[string]int{}
	for _, c := range all {
		key := fmt.Sprintf("%s/%d", nameOf(c), c.Suite)
		i, known := at[key]
		switch {
		case !known:
			at[key] = len(out)
			out = append(out, c)
		case c.ID > out[i].ID:
			out[i] = c
		}
	}
	slices.SortStableFunc(out, func(a, b reads.Check) int { return cmp.Compare(nameOf(a), nameOf(b)) })
	return out
}

// greenElsewhere reports whether a failed check succeeded in another run on the same
// commit, before or after. A run at the same time in another suite is a different check
// of the same name.
func greenElsewhere(all []reads.Check, failed reads.Check) bool {
	return slices.ContainsFunc(all, func(c reads.Check) bool {
		apart := !c.Started.Before(failed.Completed) || !failed.Started.Before(c.Completed)
		return c.State == "success" && nameOf(c) == nameOf(failed) && c.ID != failed.ID && (c.Suite == failed.Suite || apart)
	})
}
