// Package ci says what the checks of a commit mean for the session that made it: whether
// they have answered, which of them it is to mend, and which part of a job's log says
// why, and begins a session that mends them.
//
//	ci.go    facts in, decision out
//	log.go   the part of a log that matters
//	look.go  reads the facts
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

// Check is one check of a commit.
type mendCheck = reads.Check

// Tool is the name of the tool that waits for checks.
const Tool = "wait_for_checks"

// NoneAfter is how long a commit without a check is taken for one that gets some.
const NoneAfter = 10 * time.Minute

// Longest is how long checks that run are waited for.
func Longest(l policy.CIFix) time.Duration { return cmp.Or(time.Duration(l.Wait), 6*time.Hour) }

// Facts are what is known of a commit and of the work on it.
type Facts struct {
	Head []reads.Check // of the commit, every attempt, without the agent's own
	Base []reads.Check // of the commit that the pull request goes onto, likewise

	Attempts, OfHead int // how often checks brought the session back, and for this commit
	Limits           policy.CIFix

	Now time.Time // zero where it plays no part how long checks run
}

// Verdict is what the checks of a commit come to.
type Verdict struct {
	Green   []string      // names of the checks that are content
	Running []string      // of those that have not ended,
	Stuck   []string      // and of those that should have long ago
	Failed  []reads.Check // that are the session's to mend
	Excused []string      // that failed, and why they are nobody's, or the base's

	Mend   bool // the session is to be brought back
	UsedUp bool // it would be, and has been as often as it may
}

// failing are the states of checks that something is to be done about.
var failing = []string{"failure", "timed_out", "startup_failure", "error"}

// Decide returns what the checks come to. What runs is waited for, so that the session
// hears of all that failed at once.
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
		case !slices.Contains(failing, c.State): // neutral, skipped, stale, or waiting for a person
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

// Ended reports whether an event says that a check of a commit has answered.
func Ended(ev ghapp.Event) bool {
	over := ev.Kind == "status" && ev.Check.Status == "completed" ||
		slices.Contains([]string{"check_run", "check_suite", "workflow_run"}, ev.Kind) && ev.Action == "completed"
	return over && ev.Check.SHA != "" && ev.Thread.Repo != ""
}

// Off returns why the checks of the agent's pull requests are nothing to it, or "".
func Off(t policy.Triggers) string {
	if t.Checks == nil || !*t.Checks { //control:checks-are-off
		return "checks bring a session back only where triggers.checks is on"
	}
	return ""
}

// stuck reports whether a check runs for longer than any is waited for. A status says when
// it was set.
func (f Facts) stuck(c reads.Check) bool {
	began := c.Started
	if began.IsZero() {
		began = c.Completed
	}
	return !f.Now.IsZero() && !began.IsZero() && f.Now.Sub(began) >= Longest(f.Limits)
}

// Waits reports whether the checks of a commit have not answered, to somebody who waits
// for them since a time.
func Waits(f Facts, since time.Time) bool {
	waited, most := f.Now.Sub(since), Longest(f.Limits)
	if len(f.Head) == 0 {
		return waited < min(NoneAfter, most) //control:no-check-is-none
	}
	return len(Decide(f).Running) > 0 && waited < most //control:checks-are-not-awaited-for-ever
}

// nameOf is what a check is called on every commit.
func nameOf(c reads.Check) string { return c.App + "/" + c.Name }

// newest returns the newest attempt of each check, in the order of their names.
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

// greenElsewhere reports whether a check that failed was green when it ran on the same
// commit before or after that. What ran at the same time in another suite only has its
// name.
func greenElsewhere(all []reads.Check, failed reads.Check) bool {
	return slices.ContainsFunc(all, func(c reads.Check) bool {
		apart := !c.Started.Before(failed.Completed) || !failed.Started.Before(c.Completed)
		return c.State == "success" && nameOf(c) == nameOf(failed) && c.ID != failed.ID && (c.Suite == failed.Suite || apart)
	})
}
