// Package schedule starts sessions that nobody asks for: by the clock, or when the default
// branch of a repository changes. It knows when they are due, and keeps what became of
// them in the database, so that many servers start each of them once.
//
//	schedule.go   what a repository has scheduled, and when that is due
//	clock.go      starts what is due, and records it
//	look.go       what there is to look at
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
	Refused    string `json:"refused,omitempty"` // why the server does not start it, "" where it does
}

const (
	mostEntries = 5               // schedules of one repository, unless the server says otherwise
	leastPause  = time.Hour       // between two runs of one, likewise
	lateAfter   = 5 * time.Minute // a time counts as missed
	mostTimes   = 200_000         // times of one schedule that are looked through
)

// Of returns what is scheduled for a repository: what the server's file has for all, and
// what the repository's own has, as far as the server lets it.
func Of(repository string, server, repo policy.Config) []Entry {
	var out []Entry
	known := map[string]bool{}
	for _, s := range server.Schedules {
		out, known[s.Name] = append(out, Entry{Schedule: s, Repository: repository, Refused: wrongMode(s, nil)}), true
	}
	limits := server.ScheduleLimits
	for i, s := range repo.Schedules {
		e := Entry{Schedule: s, Repository: repository, Refused: wrongMode(s, limits.Modes)}
		switch most := cmp.Or(limits.Most, mostEntries); {
		case known[s.Name]:
			e.Refused = "the server has a schedule of this name"
		case i >= most: //control:most-schedules
			e.Refused = fmt.Sprintf("a repository may have %d", most)
		case e.tooOften(cmp.Or(time.Duration(limits.Every), leastPause)): //control:schedules-not-too-often
			e.Refused = fmt.Sprintf("it may run every %s at most", cmp.Or(time.Duration(limits.Every), leastPause))
		}
		out = append(out, e)
	}
	return out
}

// wrongMode returns why the mode of a schedule is not let in, or "". Modes are those that
// may be, none for those that only read and, with unattended: ask, all others.
func wrongMode(s policy.Schedule, modes []string) string {
	m, err := policy.ParseMode(ModeOf(s))
	switch {
	case err != nil:
		return err.Error()
	case !m.ReadOnly() && s.Unattended != "ask": //control:schedules-only-read
		return "it acts for nobody, so a mode that changes files needs unattended: ask"
	case len(modes) > 0 && !slices.Contains(modes, m.Name):
		return fmt.Sprintf("the server lets schedules have the modes %s", strings.Join(modes, ", "))
	}
	return ""
}

// ModeOf is the mode that a schedule works in.
func ModeOf(s policy.Schedule) string {
	if s.Mode == "" && (s.Kind == "review" || s.Kind == "stale") {
		return "review"
	}
	return cmp.Or(s.Mode, "ask")
}

// times returns the times of the clock, nil for an entry that has none.
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
	return hands{spec, at} //control:hours-that-are-there-twice
}

// everyHour is how cron says that the field of the hours is *.
const everyHour = 1 << 63

// hands are times that name hours of the day, as the hands of a clock show them in a place.
// An hour that is there twice in autumn begins nothing the second time, and what stands in
// the one that is left out in spring begins right after it.
type hands struct {
	show *cron.SpecSchedule // in UTC, whose hands never jump
	at   *time.Location
}

// Next implements [cron.Schedule].
func (h hands) Next(after time.Time) time.Time {
	l := after.In(h.at)
	w := time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
	for {
		if w = h.show.Next(w); w.IsZero() {
			return w
		}
		if is := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), 0, 0, h.at); is.After(after) {
			return is
		}
	}
}

// Wrong returns what cannot be read of the time, or "".
func (e Entry) Wrong() string {
	if e.Cron == "" {
		return ""
	}
	if _, err := cron.ParseStandard(e.Cron); err != nil {
		return "cron: " + err.Error()
	}
	return ""
}

// Never reports whether the clock of a schedule can be read and has no time.
func Never(s policy.Schedule) bool {
	at := Entry{Schedule: s}.times()
	return at != nil && at.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero()
}

// Unread returns what cannot be read of the clock of a schedule, or "".
func Unread(s policy.Schedule) string { return Entry{Schedule: s}.Wrong() }

// tooOften reports whether two of the next times are closer than a pause.
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

// late is how much later than its time an occurrence begins: the same on every server.
func (e Entry) late(at time.Time) time.Duration {
	if e.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %d", e.Repository, e.Name, at.Unix())
	return time.Duration(h.Sum64() % uint64(e.Jitter))
}

// Next returns when the entry is due next, with its jitter; the zero time for never.
func (e Entry) Next(after time.Time) time.Time {
	s := e.times()
	if s == nil || e.Refused != "" {
		return time.Time{}
	}
	at := s.Next(after)
	if at.IsZero() {
		return at
	}
	return at.Add(e.late(at))
}

// due is what is to be started now. At is the time that it stands for, Missed how many
// times before it nothing was started at, and Skip that this one is left out as well.
type due struct {
	At     time.Time
	Missed int
	Skip   bool
}

// due returns what is due since the last time that was looked at. All that was missed is
// made up for once, or not, as configured.
func (e Entry) due(last, now time.Time) (d due, ok bool) {
	s := e.times()
	if s == nil || e.Refused != "" {
		return d, false
	}
	for at := s.Next(last); !at.IsZero() && !at.Add(e.late(at)).After(now); at = s.Next(at) {
		if ok {
			d.Missed++
		}
		d.At, ok = at, true
		if d.Missed >= mostTimes {
			d.At = now.Truncate(time.Minute) // a clock that was years behind
			break
		}
	}
	d.Skip = ok && e.Missed == "skip" && now.Sub(d.At.Add(e.late(d.At))) > lateAfter //control:missed-is-skipped
	return d, ok
}

// refusal returns why an entry is not started any more, given what is scheduled now, or "".
func refusal(e Entry, now []Entry) string {
	for _, n := range now {
		if n.Name == e.Name {
			return n.Refused
		}
	}
	return "it is not scheduled any more"
}
