package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

type listCmd struct {
	records.Flags `embed:""`

	Place string `arg:"" optional:"" help:"git:REPOSITORY (a URL, or the path of a clone) for those that workflow runs keep there, instead of a database."`
	Repo  string `placeholder:"OWNER/NAME" help:"Only of this repository, owner/name."`
	Limit int    `default:"50" help:"At most this many."`
	JSON  bool   `name:"json" help:"Print one JSON array."`
}

// row is a session in a list, and the contract of `handrail sessions list --json`.
type row struct {
	Session string    `json:"session"`
	State   string    `json:"state"`
	Began   time.Time `json:"began"`
	Where   string    `json:"where"` // the thread on GitHub, or the clone of a run on this machine
	Branch  string    `json:"branch,omitempty"`
	Mode    string    `json:"mode,omitempty"`
	Model   string    `json:"model,omitempty"`
	Task    string    `json:"task,omitempty"`  // of a run on this machine
	Fault   string    `json:"fault,omitempty"` // why the session is unreadable; the other fields are then empty
}

// Run lists sessions.
func (c *listCmd) Run(ctx context.Context, w *door.Console) error {
	list, err := c.rows(ctx, w)
	if err != nil && len(list) == 0 {
		return err
	}
	slices.SortStableFunc(list, func(a, b row) int { return b.Began.Compare(a.Began) })
	list = list[:min(len(list), cmp.Or(max(c.Limit, 0), len(list)))]
	if c.JSON {
		return errors.Join(err, door.JSONLine(w.Out, list))
	}
	return errors.Join(err, c.table(w, list))
}

func (c *listCmd) rows(ctx context.Context, w *door.Console) ([]row, error) {
	if c.Place != "" {
		return c.ofRepository(ctx, w)
	}
	list := []row{}
	if c.Unset() && c.Repo == "" {
		found, err := local.List(c.Limit)
		for _, r := range found {
			t := r.State.Task
			list = append(list, row{
				Session: r.ID, State: r.Phase(), Began: r.State.Started, Where: cmp.Or(t.Clone.Path, "this machine"),
				Branch: t.Branch, Mode: r.State.ModeName(), Model: r.State.ModelName(), Task: t.Text,
			})
		}
		if err != nil || !c.IsThere() {
			return list, err
		}
	}
	more, err := c.ofDatabase(ctx, w)
	return append(list, more...), err
}

func (c *listCmd) ofDatabase(ctx context.Context, w *door.Console) (list []row, err error) {
	s, err := c.Open(ctx, w.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found, err := s.Sessions.List(ctx, store.Query{Repo: c.Repo, Limit: c.Limit})
	for _, f := range found {
		list = append(list, ofStore(f))
	}
	return list, err
}

func ofStore(s *store.Session) row {
	return row{
		Session: s.ID,
		State:   string(s.State),
		Began:   s.Created,
		Where:   s.Thread,
		Branch:  s.Branch,
		Mode:    s.Mode,
		Model:   s.Model,
	}
}

// ofRepository lists the sessions in the refs of a repository. An unreadable ref is
// listed with its fault.
func (c *listCmd) ofRepository(ctx context.Context, w *door.Console) (list []row, err error) {
	if !threadref.IsGit(c.Place) {
		return nil, door.Usage("%s is no repository: want git:https://host/owner/name or git:PATH", c.Place)
	}
	err = WithRepository(ctx, w, c.Place, func(r *threadref.Repository) error {
		found, err := r.Sessions(ctx)
		for _, s := range found {
			at, perr := thread.Parse(s.Row.Thread)
			switch {
			case s.Err != nil:
				list = append(list, row{Session: s.Name(), Fault: s.Err.Error()})
			case c.Repo == "" || perr == nil && strings.EqualFold(at.Repository(), c.Repo):
				list = append(list, ofStore(&s.Row))
			}
		}
		return err
	})
	return list, err
}

// table prints the rows as text.
func (c *listCmd) table(w *door.Console, list []row) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(
			w.Err,
			"There are no sessions here. `handrail run` makes one; --data, --database or --config name the database of a server.",
		)
		return err
	}
	if slices.ContainsFunc(list, func(r row) bool { return r.Task != "" }) {
		return w.Lines(tasks(list))
	}
	rows := [][]string{{"SESSION", "STATE", "BEGAN", "WHERE", "BRANCH"}}
	for _, r := range list {
		rows = append(rows, r.cells(r.Where, cmp.Or(r.Branch, "-")))
	}
	return w.Table(rows)
}

// tasks returns the rows of a list with tasks, for one line each: show has the branches and
// the paths of the clones, whose names are left out if there is only one.
func tasks(list []row) [][]string {
	many := slices.ContainsFunc(list, func(r row) bool { return r.Where != list[0].Where })
	rows := [][]string{{"SESSION", "STATE", "BEGAN", "TASK"}}
	if many {
		rows[0] = slices.Insert(rows[0], 3, "WHERE")
	}
	for _, r := range list {
		cells := []string{cmp.Or(local.Title(r.Task), "-")}
		switch {
		case many && filepath.IsAbs(r.Where):
			cells = slices.Insert(cells, 0, filepath.Base(r.Where))
		case many:
			cells = slices.Insert(cells, 0, r.Where)
		}
		rows = append(rows, r.cells(cells...))
	}
	return rows
}

// cells returns the cells of a row, with these behind the ones of all lists.
func (r row) cells(more ...string) []string {
	cells := append([]string{r.Session, r.State, r.Began.Local().Format("2006-01-02 15:04")}, more...)
	if r.Fault != "" {
		cells = []string{r.Session, "unreadable", "-", r.Fault}
	}
	for i, cell := range cells {
		cells[i] = untrusted.EscapeLine(cell)
	}
	return cells
}
