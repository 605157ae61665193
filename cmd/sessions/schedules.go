// The verbs that list the schedules of repositories, and start them by hand.

package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// ScheduleVerbs are the commands of handrail schedule.
type ScheduleVerbs struct {
	List listSchedulesCmd `cmd:"" help:"List schedules, with the next time and the last result of each."`
	Run  runCmd           `cmd:"" help:"Start a schedule now, by the server."`
}

type listSchedulesCmd struct {
	records.Flags `embed:""`

	JSON bool `name:"json" help:"Print one JSON array."`
}

// scheduled is an entry in a list, and the contract of `handrail schedule list --json`.
type scheduled struct {
	Repository string     `json:"repository"`
	Name       string     `json:"name"`
	Next       *time.Time `json:"next,omitempty"`
	On         string     `json:"on,omitempty"`      // the event that starts it, in place of a time
	Refused    string     `json:"refused,omitempty"` // the reason that it never begins
	Last       *time.Time `json:"last,omitempty"`
	Result     string     `json:"result,omitempty"` // of the last start

	line []string
}

// Run lists schedules.
func (c *listSchedulesCmd) Run(ctx context.Context, w *door.Console) (err error) {
	s, err := c.Open(ctx, w.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return desk{s.Store, w, time.Now()}.list(ctx, c.JSON)
}

type runCmd struct {
	records.Flags `embed:""`

	Name       string `arg:"" help:"Name of the schedule."`
	Repository string `placeholder:"OWNER/NAME" help:"Repository of the schedule, owner/name, if several have one of that name."`
	DryRun     bool   `help:"Only show its task, its mode and the place of its result."`
}

// Run starts a schedule.
func (c *runCmd) Run(ctx context.Context, w *door.Console) (err error) {
	s, err := c.Open(ctx, w.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return desk{s.Store, w, time.Now()}.start(ctx, c.Name, c.Repository, c.DryRun)
}

// clock is the layout of times in UTC.
const clock = "2006-01-02 15:04 UTC"

// desk manages the schedules of a database.
type desk struct {
	store store.Store
	w     *door.Console
	now   time.Time
}

// list prints each schedule with its next time and its last result, below its repository,
// or as JSON.
func (d desk) list(ctx context.Context, asJSON bool) error {
	entries, err := d.entries(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(d.w.Out).Encode(entries)
	}
	var rows [][]string
	at := ""
	for _, e := range entries {
		if e.Repository != at {
			at = e.Repository
			rows = append(rows, []string{at})
		}
		rows = append(rows, e.line)
	}
	if len(rows) == 0 {
		d.w.Note("", "nothing is scheduled, or no server has read it yet: "+
			"it is read when a server starts, and when the default branch changes")
		return nil
	}
	return d.w.Table(rows)
}

// entries returns the schedules of all repositories.
func (d desk) entries(ctx context.Context) ([]scheduled, error) {
	book := schedule.Book{Meta: d.store.Meta}
	names, err := book.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	out := []scheduled{}
	for _, repo := range names {
		t, err := book.Table(ctx, repo)
		if err != nil {
			return nil, err
		}
		for _, e := range t.Entries {
			st, err := book.State(ctx, e.Repository, e.Name)
			if err != nil {
				return nil, err
			}
			out = append(out, d.entry(repo, e, st))
		}
	}
	return out, nil
}

func (d desk) entry(repo string, e schedule.Entry, st schedule.State) scheduled {
	s := scheduled{Repository: repo, Name: e.Name, On: e.On, Refused: cmp.Or(e.Refused, schedule.CronFault(e.Schedule))}
	if at := e.Next(later(d.now, st.Last)); s.Refused == "" && s.On == "" && !at.IsZero() {
		at = at.UTC()
		s.Next = &at
	}
	if n := len(st.Past); n > 0 {
		at := st.Past[n-1].At.UTC()
		s.Last, s.Result = &at, st.Past[n-1].What
	}
	s.line = []string{"  " + untrusted.EscapeLine(e.Name), e.Outlook(d.now, st, "next "+clock), lastResult(st)}
	return s
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func lastResult(st schedule.State) string {
	if len(st.Past) == 0 {
		return "not run yet"
	}
	h := st.Past[len(st.Past)-1]
	return "last " + h.At.UTC().Format(clock) + ": " + untrusted.EscapeLine(h.What)
}

// start starts an entry by name now. repo is required if several repositories have an
// entry of that name. If dry, it only prints the effect.
func (d desk) start(ctx context.Context, name, repo string, dry bool) error {
	book := schedule.Book{Meta: d.store.Meta}
	names, err := book.Repositories(ctx)
	if err != nil {
		return err
	}
	var found []schedule.Start
	for _, r := range names {
		t, err := book.Table(ctx, r)
		if err != nil {
			return err
		}
		for _, e := range t.Entries {
			if e.Name == name && (repo == "" || strings.EqualFold(repo, r)) {
				found = append(found, schedule.Start{Entry: e, At: d.now, Installation: t.Installation})
			}
		}
	}
	switch {
	case len(found) == 0:
		return door.Usage("there is no schedule %q; `handrail schedule list` shows all", name)
	case len(found) > 1:
		return door.Usage("%d repositories have a schedule %q: name one with --repository", len(found), name)
	}
	s := found[0]
	st, err := book.State(ctx, s.Entry.Repository, name)
	if err != nil {
		return err
	}
	if dry || s.Entry.Refused != "" {
		_, err := fmt.Fprintf(
			d.w.Out,
			"%s %s\n%s\nmode %s, result in %s, requests for approval are %s\n\n%s\n",
			s.Entry.Repository,
			untrusted.EscapeLine(name),
			s.Entry.Outlook(d.now, st, "next "+clock),
			schedule.ModeOf(s.Entry.Schedule),
			where(
				s.Entry,
			),
			map[bool]string{true: "asked", false: "denied"}[s.Entry.Unattended == "ask"],
			schedule.TaskOf(s.Entry.Schedule, about(s.Entry, st)),
		)
		return err
	}
	put, err := s.Delivery()
	if err != nil {
		return err
	}
	put.ID += fmt.Sprintf(" by hand %d", d.now.Nanosecond()) // unique, even for two starts within a second
	put.Key = put.ID
	if _, err := d.store.Deliveries.Put(ctx, &put); err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.w.Out, "%s will be started by the server\n", untrusted.EscapeLine(name))
	return err
}

func where(e schedule.Entry) string {
	if e.Result == "comment" {
		return fmt.Sprintf("#%d", e.Number)
	}
	return "an issue of its own"
}

// about describes the subject of an entry.
func about(e schedule.Entry, st schedule.State) string {
	switch e.Kind {
	case "review":
		if st.Commit != "" {
			return fmt.Sprintf("(A review of the default branch's new commits since %.12s, if there are any.)", st.Commit)
		}
		return "(A review of the newest commits of the default branch.)"
	case "stale":
		return "(A look at open pull requests without activity, if there are any.)"
	case "triage":
		return "(Labels, duplicates and questions for new issues without a label, in their threads.)"
	case "dependencies":
		return "(A look at the repository's dependencies.)"
	}
	return ""
}
