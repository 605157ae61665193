package schedule_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/policy"
)

const repo = "team/app"

func config(list ...policy.Schedule) policy.Config {
	return policy.Config{Watch: policy.Watch{Schedules: list}}
}

// TestOf: the server limits how many schedules a repository has, how often they run, and
// in which modes; none changes files unless people are asked.
func TestOf(t *testing.T) {
	hourly := policy.Schedule{Name: "a", Cron: "0 * * * *", Task: "x"}
	with := func(change func(*policy.Schedule)) policy.Schedule {
		s := hourly
		change(&s)
		return s
	}
	for _, tt := range []struct {
		name   string
		is     policy.Schedule
		limits policy.ScheduleLimits
		want   string // why it is refused
	}{
		{"hourly", hourly, policy.ScheduleLimits{}, ""},
		{"each five minutes", with(func(s *policy.Schedule) { s.Cron = "*/5 * * * *" }), policy.ScheduleLimits{}, "every 1h0m0s at most"},
		{"each five minutes, let", with(func(s *policy.Schedule) { s.Cron = "*/5 * * * *" }), policy.ScheduleLimits{Every: policy.Duration(time.Minute)}, ""},
		{"twice in the night", with(func(s *policy.Schedule) { s.Cron = "0,10 3 * * *" }), policy.ScheduleLimits{}, "at most"},
		{"@every", with(func(s *policy.Schedule) { s.Cron = "@every 1m" }), policy.ScheduleLimits{}, "at most"},
		{"code", with(func(s *policy.Schedule) { s.Mode = "code" }), policy.ScheduleLimits{}, "unattended: ask"},
		{"code, asked", with(func(s *policy.Schedule) { s.Mode, s.Unattended = "code", "ask" }), policy.ScheduleLimits{}, ""},
		{"code, asked, not let", with(func(s *policy.Schedule) { s.Mode, s.Unattended = "code", "ask" }), policy.ScheduleLimits{Modes: []string{"ask", "review"}}, "the server lets"},
		{"a review", with(func(s *policy.Schedule) { s.Kind = "review" }), policy.ScheduleLimits{Modes: []string{"review"}}, ""},
	} {
		server := policy.Config{Watch: policy.Watch{ScheduleLimits: tt.limits}}
		got := schedule.Of(repo, server, config(tt.is))
		if len(got) != 1 || (got[0].Refused == "") != (tt.want == "") || !strings.Contains(got[0].Refused, tt.want) {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
	var many []policy.Schedule
	for _, n := range strings.Split("abcdefg", "") {
		many = append(many, with(func(s *policy.Schedule) { s.Name = n }))
	}
	refused := 0
	for _, e := range schedule.Of(repo, config(hourly), config(many...)) {
		if e.Refused != "" {
			refused++
		}
	}
	if refused != 3 { // a is the server's; f and g are too many
		t.Errorf("%d are refused", refused)
	}
}

// world is a database, and a clock that stands still until it is set.
type world struct {
	t   *testing.T
	db  store.Store
	now time.Time
}

func newWorld(t *testing.T) *world {
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "bot.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &world{t: t, db: db.Store, now: time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)}
}

func (w *world) clock() schedule.Clock {
	return schedule.Clock{Book: schedule.Book{Meta: w.db.Meta}, Deliveries: w.db.Deliveries, Now: func() time.Time { return w.now }}
}

func (w *world) learn(s policy.Schedule) {
	w.t.Helper()
	t := schedule.Table{Entries: schedule.Of(repo, policy.Config{}, config(s))}
	if err := w.clock().Learn(w.t.Context(), repo, t, w.now); err != nil {
		w.t.Fatal(err)
	}
}

// started looks at a time, on two servers, and returns the deliveries that are new.
func (w *world) started(at string) (ids []string) {
	w.t.Helper()
	now, err := time.Parse("2006-01-02 15:04", at)
	if err != nil {
		w.t.Fatal(err)
	}
	w.now = now
	for range 2 {
		if err := w.clock().Look(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	for {
		d, err := w.db.Deliveries.Next(w.t.Context(), repo+"#0")
		if errors.Is(err, store.ErrNotFound) {
			return ids
		}
		if err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, d.ID)
		if err := w.db.Deliveries.Done(w.t.Context(), "done", d.ID); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestClock: an occurrence begins once, in its time zone, also where the clocks change;
// what was missed is made up for once, or left out.
func TestClock(t *testing.T) {
	for _, missed := range []string{"once", "skip"} {
		w := newWorld(t)
		w.learn(policy.Schedule{Name: "n", Cron: "30 3 * * *", Zone: "Europe/Vienna", Task: "x", Missed: missed})
		for _, step := range []struct {
			at   string
			want int
		}{
			{"2026-03-27 12:01", 0}, {"2026-03-28 02:29", 0}, {"2026-03-28 02:31", 1}, {"2026-03-28 02:40", 0},
			{"2026-03-29 01:29", 0}, {"2026-03-29 01:31", 1}, // summer time
			{"2026-04-03 08:00", map[string]int{"once": 1}[missed]}, {"2026-04-03 08:10", 0}, {"2026-04-04 01:30", 1},
		} {
			if got := w.started(step.at); len(got) != step.want {
				t.Errorf("%s, %s: %q, want %d", missed, step.at, got, step.want)
			}
		}
		st, err := w.clock().State(t.Context(), repo, "n")
		if err != nil || !slices.ContainsFunc(st.Past, func(h schedule.HistoryEntry) bool {
			return strings.Contains(h.What, map[string]string{"once": "started once for 5 times", "skip": "left out: no server ran"}[missed])
		}) {
			t.Errorf("%s: %+v %v", missed, st, err)
		}
		w.learn(policy.Schedule{Name: "n", Cron: "30 3 * * *", Zone: "Europe/Vienna", Task: "y"}) // read again
		if got := w.started("2026-04-04 01:31"); len(got) != 0 {
			t.Errorf("what was read again begins again: %q", got)
		}
	}
}

// TestOtherTimes: a schedule whose times are changed begins at the new ones from now on:
// nothing was missed at them before. Another task at the same times leaves out nothing.
func TestOtherTimes(t *testing.T) {
	w := newWorld(t)
	w.learn(policy.Schedule{Name: "n", Cron: "0 3 * * *", Task: "x"})
	if got := w.started("2026-03-28 03:01"); len(got) != 1 {
		t.Fatalf("at its time: %q", got)
	}
	w.now = w.now.Add(9 * time.Hour)
	w.learn(policy.Schedule{Name: "n", Cron: "0 6 * * *", Task: "x"})
	if got := w.started("2026-03-28 12:02"); len(got) != 0 {
		t.Errorf("an hour before the change was missed: %q", got)
	}
	w.learn(policy.Schedule{Name: "n", Cron: "0 6 * * *", Zone: "Asia/Tokyo", Task: "x"}) // 21:00 in UTC
	if got := w.started("2026-03-28 12:03"); len(got) != 0 {
		t.Errorf("an hour of another place was missed: %q", got)
	}
	w.now = time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	w.learn(policy.Schedule{Name: "n", Cron: "0 6 * * *", Zone: "Asia/Tokyo", Task: "y"})
	if got := w.started("2026-03-29 01:01"); len(got) != 1 {
		t.Errorf("another task left out what was missed: %q", got)
	}
}

// TestJitter: all servers wait as long, and no longer than configured.
func TestJitter(t *testing.T) {
	w := newWorld(t)
	w.learn(policy.Schedule{Name: "n", Cron: "0 * * * *", Task: "x", Jitter: policy.Duration(30 * time.Minute)})
	table, err := w.clock().Table(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[time.Duration]bool{}
	for at := w.now; at.Before(w.now.Add(24 * time.Hour)); at = at.Add(time.Hour) {
		next := table.Entries[0].Next(at)
		late := next.Sub(next.Truncate(time.Hour))
		if seen[late] = true; late >= 30*time.Minute || next != table.Entries[0].Next(at) {
			t.Errorf("after %s: %s", at, next)
		}
	}
	if len(seen) < 5 {
		t.Errorf("the jitter is always the same: %v", seen)
	}
	if got := len(w.started("2026-03-27 13:31")); got != 1 {
		t.Errorf("%d begin", got)
	}
}

// dying is a database whose server dies after a delivery is stored and before that is noted.
type dying struct {
	store.Meta

	dead bool
}

func (d *dying) Swap(ctx context.Context, key string, old, value []byte) error {
	if d.dead && strings.HasPrefix(key, "schedule ") {
		return errors.New("killed")
	}
	return d.Meta.Swap(ctx, key, old, value)
}

// TestKilledInBetween: what was begun before a server died is not begun again.
func TestKilledInBetween(t *testing.T) {
	w := newWorld(t)
	w.learn(policy.Schedule{Name: "n", Cron: "0 3 * * *", Task: "x"})
	meta := &dying{w.db.Meta, true}
	c := w.clock()
	c.Book = schedule.Book{Meta: meta}
	w.now = time.Date(2026, 3, 28, 3, 0, 1, 0, time.UTC)
	if err := c.Look(t.Context()); err == nil {
		t.Fatal("it did not die")
	}
	if got := len(w.started("2026-03-28 03:01")); got != 1 {
		t.Errorf("%d begin", got)
	}
	if got := len(w.started("2026-03-28 03:02")); got != 0 {
		t.Errorf("%d begin again", got)
	}
}

func TestNothing(t *testing.T) {
	for text, want := range map[string]bool{"Nothing to report.": true, "**nothing to report**": true, "": true, "Nothing to report but a fault": false, "A fault.": false} {
		if schedule.Nothing(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

// TestClocksThatChange: a time that the clocks leave out in spring begins once right after
// that, and one that they show twice in autumn begins once.
func TestClocksThatChange(t *testing.T) {
	for _, tt := range []struct {
		zone, cron string
		from, to   string // in UTC
		want       int
	}{
		{"Europe/Vienna", "30 2 * * *", "2026-03-28 12:00", "2026-03-29 12:00", 1}, // 02:30 is not there on the 29th
		{"Europe/Vienna", "30 2 * * *", "2026-03-28 12:00", "2026-03-30 12:00", 2},
		{"Europe/Vienna", "30 2 * * *", "2026-10-24 12:00", "2026-10-25 12:00", 1}, // 02:30 is there twice
		{"Europe/Vienna", "30 3 * * *", "2026-03-28 12:00", "2026-03-29 12:00", 1},
		{"America/New_York", "30 1 * * *", "2026-10-31 12:00", "2026-11-01 12:00", 1},
		{"America/New_York", "0 * * * *", "2026-11-01 03:30", "2026-11-01 08:30", 5},     // every hour that passes
		{"Australia/Lord_Howe", "15 2 * * *", "2026-04-04 00:00", "2026-04-05 00:00", 1}, // half an hour
		{"", "30 2 * * *", "2026-03-28 12:00", "2026-03-29 12:00", 1},
	} {
		w, began := newWorld(t), 0
		at, err := time.Parse("2006-01-02 15:04", tt.from)
		if err != nil {
			t.Fatal(err)
		}
		w.now = at
		w.learn(policy.Schedule{Name: "n", Cron: tt.cron, Zone: tt.zone, Task: "x"})
		for format := "2006-01-02 15:04"; at.Format(format) != tt.to; {
			at = at.Add(10 * time.Minute)
			began += len(w.started(at.Format(format)))
		}
		if began != tt.want {
			t.Errorf("%s in %s from %s: %d begin, not %d", tt.cron, tt.zone, tt.from, began, tt.want)
		}
	}
}

// TestSkippedTimes: a time that the clocks skip is the first minute after the gap.
func TestSkippedTimes(t *testing.T) {
	for _, tt := range []struct{ zone, cron, from, want string }{
		{"America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00:00-03:00", "2018-11-04T01:00:00-02:00"},
		{"America/Sao_Paulo", "45 0 * * *", "2018-11-03T12:00:00-03:00", "2018-11-04T01:00:00-02:00"},
		{"America/Sao_Paulo", "0 0 * * *", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{"America/Sao_Paulo", "0 0,1 * * *", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{"America/Santiago", "0 0 * * 0", "2022-09-10T20:00:00-04:00", "2022-09-11T01:00:00-03:00"},
		{"Asia/Beirut", "15 0 * * *", "2022-03-26T20:00:00+02:00", "2022-03-27T01:00:00+03:00"},
		{"Europe/Vienna", "30 2 * * *", "2026-03-28T12:00:00+01:00", "2026-03-29T03:00:00+02:00"},
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00+10:30", "2026-10-04T02:30:00+11:00"},
		{"Africa/Cairo", "0 0 * * *", "2023-04-27T12:00:00+02:00", "2023-04-28T01:00:00+03:00"},
		{"Asia/Tehran", "30 0 22 3 *", "2022-03-21T12:00:00+03:30", "2022-03-22T01:00:00+04:30"},
		{"America/Havana", "*/20 0 * * *", "2026-03-07T23:00:00-05:00", "2026-03-08T01:00:00-04:00"},
		{"Atlantic/Azores", "0 0 29 3 *", "2026-03-28T12:00:00-01:00", "2026-03-29T01:00:00Z"},
		{"Antarctica/Troll", "30 1 * * *", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00"},
		{"Africa/El_Aaiun", "30 2 * * *", "2026-03-21T12:00:00Z", "2026-03-22T03:00:00+01:00"},
		{"Pacific/Apia", "0 0 30 12 *", "2011-12-01T12:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{"Pacific/Apia", "0 12 * * *", "2011-12-29T13:00:00-10:00", "2011-12-31T00:00:00+14:00"}, // a day is skipped
	} {
		from, err := time.Parse(time.RFC3339, tt.from)
		if err != nil {
			t.Fatal(err)
		}
		e := schedule.Entry{Schedule: policy.Schedule{Name: "n", Cron: tt.cron, Zone: tt.zone, Task: "x"}}
		if got := e.Next(from).Format(time.RFC3339); got != tt.want {
			t.Errorf("%s in %s after %s is at %s, want %s", tt.cron, tt.zone, tt.from, got, tt.want)
		}
	}
}

// TestManyServers: of servers over one database that look at the same moment one begins
// what is due.
func TestManyServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	var servers []schedule.Clock
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for range 2 {
		db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		servers = append(servers, schedule.Clock{Book: schedule.Book{Meta: db.Meta}, Deliveries: db.Deliveries, Now: func() time.Time { return now }})
	}
	w := &world{t: t, db: store.Store{Meta: servers[0].Meta, Deliveries: servers[0].Deliveries}, now: now}
	w.learn(policy.Schedule{Name: "n", Cron: "0 * * * *", Task: "x", Jitter: policy.Duration(5 * time.Minute)})
	for range 3 {
		now = now.Add(time.Hour + 5*time.Minute).Truncate(time.Hour).Add(6 * time.Minute)
		var both sync.WaitGroup
		for _, c := range servers {
			both.Go(func() {
				if err := c.Look(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		for n := range 2 {
			d, err := servers[n].Deliveries.Next(t.Context(), repo+"#0")
			if n == 0 && err == nil {
				err = servers[n].Deliveries.Done(t.Context(), "done", d.ID)
			}
			if n == 0 && err != nil || n == 1 && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("at %s delivery %d: %v %v", now, n+1, d, err)
			}
		}
		st, err := servers[1].State(t.Context(), repo, "n")
		if err != nil || st.Past[len(st.Past)-1].What != "started" {
			t.Errorf("%+v %v", st, err)
		}
	}
	st, err := servers[0].State(t.Context(), repo, "n")
	if err != nil || len(st.Past) != 3 {
		t.Errorf("%d are noted, not 3: %+v %v", len(st.Past), st, err)
	}
}

// TestForget: nothing is known of a repository any more, and of others all.
func TestForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.learn(policy.Schedule{Name: "n", Cron: "0 3 * * *", Task: "x"})
	other := schedule.Table{Entries: schedule.Of(repo+"2", policy.Config{}, config(policy.Schedule{Name: "n", Cron: "0 3 * * *", Task: "x"}))}
	if err := errors.Join(w.clock().Learn(t.Context(), repo+"2", other, w.now), w.clock().Forget(t.Context(), strings.ToUpper(repo)), w.clock().Forget(t.Context(), "none/such")); err != nil {
		t.Fatal(err)
	}
	if names, err := w.clock().Repositories(t.Context()); err != nil || len(names) != 1 || names[0] != strings.ToLower(repo+"2") {
		t.Errorf("repositories: %v, %v", names, err)
	}
	for name, want := range map[string]int{repo: 0, repo + "2": 1} {
		table, err := w.clock().Table(t.Context(), name)
		state, stateErr := w.clock().State(t.Context(), name, "n")
		if errors.Join(err, stateErr) != nil || len(table.Entries) != want || state.Last.IsZero() != (want == 0) {
			t.Errorf("%s: %v, %+v, %v", name, table.Entries, state, errors.Join(err, stateErr))
		}
	}
}
