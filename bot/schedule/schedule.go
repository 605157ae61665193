// Package schedule starts unattended sessions: by the clock, when the default branch of a
// repository changes, or when an issue is opened that is to be sorted. It computes due
// times, and keeps its state in the database, so that several servers start each occurrence
// once.
//
//	schedule.go   the schedules of a repository and their due times
//	clock.go      starts and records due occurrences
//	look.go       the subjects of schedules
//	triage.go     issues that are sorted without a request
package schedule

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/handrail-bot/handrail/policy"
)

// Entry is one schedule of a repository.
type Entry struct {
	policy.Schedule

	Repository string `json:"repository"`        // owner/name
	Refused    string `json:"refused,omitempty"` // why the server does not start it, "" if it does
}

const (
	maxEntries = 5               // default maximum of schedules in one repository
	minPause   = time.Hour       // default minimum between two runs of one schedule
	lateAfter  = 5 * time.Minute // delay after which a time counts as missed
	maxTimes   = 200_000         // maximum number of times examined for one schedule
)

// Of returns the schedules of a repository: those of the server's file, and those of the
// repository's own. A schedule beyond the server's limits has a reason in Refused.
func Of(repository string, server, repo policy.Config) []Entry {
	var out []Entry
	known := map[string]bool{}
	for _, s := range server.Schedules {
		out, known[s.Name] = append(out, Entry{Schedule: s, Repository: repository, Refused: wrongMode(s, nil)}), true
	}
	limits := server.ScheduleLimits
	for i, s := range repo.Schedules {
		e := Entry{Schedule: s, Repository: repository, Refused: wrongMode(s, limits.Modes)}
		switch most := cmp.Or(limits.Most, maxEntries); {
		case known[s.Name]:
			e.Refused = "the server has a schedule of this name"
		case i >= most: //control:most-schedules
			e.Refused = fmt.Sprintf("a repository may have %d", most)
		case e.tooOften(cmp.Or(time.Duration(limits.Every), minPause)): //control:schedules-not-too-often
			e.Refused = fmt.Sprintf("it may run every %s at most", cmp.Or(time.Duration(limits.Every), minPause))
		}
		out = append(out, e)
	}
	return out
}

// wrongMode returns why the mode of a schedule is refused, or "". modes are the allowed
// ones; empty allows all. A mode that changes files needs unattended: ask.
func wrongMode(s policy.Schedule, modes []string) string {
	m, err := policy.ParseMode(ModeOf(s))
	switch {
	case err != nil:
		return err.Error()
	case !m.ReadOnly() && s.Unattended != "ask": //control:schedules-only-read
		return "it has no requester, so a mode that changes files needs unattended: ask"
	case len(modes) > 0 && !slices.Contains(modes, m.Name):
		return fmt.Sprintf("the server lets schedules have the modes %s", strings.Join(modes, ", "))
	}
	return ""
}

// ModeOf returns the mode of a schedule.
func ModeOf(s policy.Schedule) string {
	if s.Kind == kindTriage {
		return kindTriage
	}
	if s.Mode == "" && (s.Kind == "review" || s.Kind == "stale") {
		return "review"
	}
	return cmp.Or(s.Mode, "ask")
}

// times returns the clock times of an entry, nil if it has none.
func (e Entry) times() cron.Schedule {
	at, err := time.LoadLocation(e.Zone)
	if err != nil || e.Cron == "" {
		return nil
	}
	s, err := cron.ParseStandard(e.Cron)
	if err != nil {
		return nil
	}
	spec, ok := s.(*cron.SpecSchedule)
	if !ok {
		return s
	}
	if spec.Location = at; spec.Hour&everyHour != 0 {
		return spec
	}
	spec.Location = time.UTC
	return localHours{spec, at} //control:hours-that-are-there-twice
}

// everyHour is the bit with which cron marks * in the field of hours.
const everyHour = 1 << 63

// localHours is a schedule at named hours of local time. The hour that autumn repeats starts
// nothing the second time; times in the hour that spring skips start right after it.
type localHours struct {
	show *cron.SpecSchedule // in UTC, which has no daylight saving time
	at   *time.Location
}

// Next implements [cron.Schedule].
func (h localHours) Next(after time.Time) time.Time {
	l := after.In(h.at)
	w := time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
	for {
		if w = h.show.Next(w); w.IsZero() {
			return w
		}
		if is := h.instant(w); is.After(after) {
			return is
		}
	}
}

// instant returns the time at which the clocks show w. If they skip it, that is the first
// minute after the gap.
func (h localHours) instant(w time.Time) time.Time {
	is := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), 0, 0, h.at)
	_, offset := is.Zone()
	early := is.Unix() + int64(offset) - w.Unix() // of the clocks at that time
	if early == 0 {
		return is
	}
	begins, ends := is.ZoneBounds()
	if early < 0 { //control:skipped-is-right-after
		return ends
	}
	return begins
}

// CronFault returns the fault of a schedule's cron expression, or "".
func CronFault(s policy.Schedule) string {
	if s.Cron == "" {
		return ""
	}
	if _, err := cron.ParseStandard(s.Cron); err != nil {
		return "cron: " + err.Error()
	}
	return ""
}

// Never reports whether a valid cron expression has no occurrence.
func Never(s policy.Schedule) bool {
	at := Entry{Schedule: s}.times()
	return at != nil && at.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero()
}

// tooOften reports whether the interval between two upcoming times is below pause.
func (e Entry) tooOften(pause time.Duration) bool {
	s := e.times()
	if s == nil {
		return false
	}
	at := s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for range 100 {
		next := s.Next(at)
		if next.IsZero() {
			return false
		}
		if next.Sub(at) < pause {
			return true
		}
		at = next
	}
	return false
}

// jitter returns the jitter of an occurrence. It is the same on every server.
func (e Entry) jitter(at time.Time) time.Duration {
	if e.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %d", e.Repository, e.Name, at.Unix())
	return time.Duration(h.Sum64() % uint64(e.Jitter))
}

// Next returns the next due time with its jitter, or the zero time if there is none.
func (e Entry) Next(after time.Time) time.Time {
	s := e.times()
	if s == nil || e.Refused != "" {
		return time.Time{}
	}
	at := s.Next(after)
	if at.IsZero() {
		return at
	}
	return at.Add(e.jitter(at))
}

// Outlook returns the next due time after now and the last run, formatted in UTC, or the
// reason why there is none.
func (e Entry) Outlook(now time.Time, st State, layout string) string {
	if st.Last.After(now) {
		now = st.Last
	}
	switch at := e.Next(now); {
	case e.Refused != "":
		return "refused: " + e.Refused
	case CronFault(e.Schedule) != "":
		return CronFault(e.Schedule)
	case e.On != "":
		return "on " + e.On
	case at.IsZero():
		return "never"
	default:
		return at.UTC().Format(layout)
	}
}

// due is an occurrence to start now. At is its scheduled time, and Missed the number of
// missed times before it. With Skip it is left out as well.
type due struct {
	At     time.Time
	Missed int
	Skip   bool
}

// due returns the occurrence due since last. Missed times are made up for by a single
// start, or not at all, as configured.
func (e Entry) due(last, now time.Time) (d due, ok bool) {
	s := e.times()
	if s == nil || e.Refused != "" {
		return d, false
	}
	for at := s.Next(last); !at.IsZero() && !at.Add(e.jitter(at)).After(now); at = s.Next(at) {
		if ok {
			d.Missed++
		}
		d.At, ok = at, true
		if d.Missed >= maxTimes {
			d.At = now.Truncate(time.Minute) // a clock that was years behind
			break
		}
	}
	d.Skip = ok && e.Missed == "skip" && now.Sub(d.At.Add(e.jitter(d.At))) > lateAfter //control:missed-is-skipped
	return d, ok
}

// refusal returns why an entry may not start under the current schedules, or "".
func refusal(e Entry, now []Entry) string {
	for _, n := range now {
		if n.Name == e.Name {
			return n.Refused
		}
	}
	return "it is no longer scheduled"
}
