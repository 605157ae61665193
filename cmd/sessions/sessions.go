// Package sessions lists the sessions of a server, or of a repository whose bot is a
// workflow, and moves their logs.
//
//	sessions.go  the verbs
//	place.go     where a log may be that is in no database
package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/archive"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Verbs are the commands of handrail sessions.
type Verbs struct {
	List   listCmd   `cmd:"" help:"List sessions, newest first."`
	Export exportCmd `cmd:"" help:"Write the log of a session to a file or a git ref."`
	Import importCmd `cmd:"" help:"Store the log of a session from a file or a git ref."`
}

type listCmd struct {
	records.Flags `embed:""`

	Place string `arg:"" optional:"" help:"git:REPOSITORY (a URL, or the path of a clone) for those that workflow runs keep there, instead of a database."`
	Repo  string `help:"Only of this repository, owner/name."`
	Limit int    `default:"50" help:"At most this many."`
}

// Run lists sessions.
func (c *listCmd) Run(ctx context.Context, w *door.Console) (err error) {
	if c.Place != "" {
		return c.ofRepository(ctx, w)
	}
	s, err := c.Open(ctx, w.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	list, err := s.Sessions.List(ctx, store.Query{Repo: c.Repo, Limit: c.Limit})
	if err != nil {
		return err
	}
	for _, row := range list {
		if err := line(w, row); err != nil {
			return err
		}
	}
	return nil
}

func line(w *door.Console, row *store.Session) error {
	_, err := fmt.Fprintf(w.Out, "%s\t%s\t%s\t%s\n", untrusted.EscapeLine(row.ID), untrusted.EscapeLine(row.Thread), untrusted.EscapeLine(string(row.State)), row.Created.Format("2006-01-02 15:04"))
	return err
}

// ofRepository lists what is in the refs of a repository. What cannot be read there is
// said of each ref, last.
func (c *listCmd) ofRepository(ctx context.Context, w *door.Console) error {
	if !archive.IsGit(c.Place) {
		return door.Usage("%s is no repository: want git:https://host/owner/name or git:PATH", c.Place)
	}
	return WithRepository(ctx, w, c.Place, func(r *archive.Repository) error {
		found, err := r.Sessions(ctx)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(s archive.Stored) bool {
			at, err := thread.Parse(s.Row.Thread)
			return s.Err == nil && c.Repo != "" && (err != nil || !strings.EqualFold(at.Repository(), c.Repo))
		})
		slices.SortStableFunc(found, func(a, b archive.Stored) int { return b.Row.Created.Compare(a.Row.Created) })
		for _, s := range found[:min(len(found), cmp.Or(max(c.Limit, 0), len(found)))] {
			if s.Err == nil {
				err = line(w, &s.Row)
			} else {
				_, err = fmt.Fprintf(w.Out, "-\t%s\t%s\n", untrusted.EscapeLine(s.Name()), untrusted.EscapeLine(s.Err.Error()))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type exportCmd struct {
	records.Flags `embed:""`

	Session string `arg:"" help:"Id of the session, or git:REPOSITORY#SESSION for one that is in a repository."`
	Out     string `short:"o" aliases:"to" default:"-" help:"Where to: a file, git:REPOSITORY (a URL or a path), or - for standard output."`
}

// Run writes the log of one session.
func (c *exportCmd) Run(ctx context.Context, w *door.Console) (err error) {
	id, events, err := c.read(ctx, w)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return fmt.Errorf("export session %s: %w", c.Session, store.ErrNotFound)
	}
	return writeLog(ctx, w, c.Out, id, events)
}

func (c *exportCmd) read(ctx context.Context, w *door.Console) (id string, events []session.Event, err error) {
	if archive.IsGit(c.Session) {
		return ReadLog(ctx, w, c.Session)
	}
	s, err := c.Open(ctx, w.Log)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	events, err = s.Logs.Log(store.Fence{Key: c.Session}).Events(ctx, 0)
	return c.Session, events, err
}

type importCmd struct {
	records.Flags `embed:""`

	In string `arg:"" default:"-" help:"What to read, as export wrote it: a file, git:REPOSITORY#SESSION, or - for standard input."`
}

// Run stores the log of one session.
func (c *importCmd) Run(ctx context.Context, w *door.Console) (err error) {
	id, events, err := ReadLog(ctx, w, c.In)
	if errors.Is(err, os.ErrNotExist) {
		return door.UsageError{Err: err}
	}
	if err != nil {
		return fmt.Errorf("import session: %w", err)
	}
	if id == "" {
		return door.Usage("%s says of no session whose log it is: the first event of a log names it", c.In)
	}
	if c.Database != "" && !config.IsPostgres(c.Database) {
		f, err := os.OpenFile(c.Database, os.O_CREATE|os.O_RDONLY, 0o600) // a new database is fine here
		if err != nil {
			return door.UsageError{Err: err}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	s, err := c.Open(ctx, w.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Logs.Import(ctx, id, events); err != nil {
		return err
	}
	if err := store.Restore(ctx, s.Store, id); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Out, "stored the log of session %s\n", id)
	return err
}
