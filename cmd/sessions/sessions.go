// Package sessions lists the sessions of a server, or of a repository with the bot in a
// workflow, and moves their logs.
//
//	sessions.go  the verbs, and those that move a log
//	list.go      lists sessions
//	show.go      shows one session, with its traces
//	delete.go    deletes sessions
//	place.go     locations of logs outside of a database
package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/records"
)

// Verbs are the commands of handrail sessions.
type Verbs struct {
	List   listCmd   `cmd:"" help:"List sessions, newest first: those of a server, of a repository, and of 'handrail run' on this machine."`
	Show   showCmd   `cmd:"" help:"Show one session: its thread, branch, events, and the traces that a server with traces sent."`
	Delete deleteCmd `cmd:"" help:"Delete sessions that are over, with their logs: of 'handrail run' on this machine, or of a server. Branches and texts on GitHub stay."`
	Export exportCmd `cmd:"" help:"Write the log of a session to a file or a git ref."`
	Import importCmd `cmd:"" help:"Store the log of a session from a file or a git ref."`
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
	if threadref.IsGit(c.Session) {
		return readLog(ctx, w, c.Session)
	}
	if local.Has(c.Session) && c.Unset() {
		return ReadFile(c.Session)
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

	In string `arg:"" default:"-" help:"The log, in the form of export: a file, git:REPOSITORY#SESSION, or - for standard input."`
}

// Run stores the log of one session.
func (c *importCmd) Run(ctx context.Context, w *door.Console) (err error) {
	id, events, err := readLog(ctx, w, c.In)
	if errors.Is(err, os.ErrNotExist) {
		return door.UsageError{Err: err}
	}
	if err != nil {
		return fmt.Errorf("import session: %w", err)
	}
	if id == "" {
		return door.Usage(
			"%s holds no log of a session, as `handrail sessions export` writes it: its first event names the session",
			map[bool]string{true: "standard input", false: c.In}[c.In == "-"],
		)
	}
	if c.Database != "" && !config.IsPostgres(c.Database) {
		f, err := os.OpenFile(c.Database, os.O_CREATE|os.O_RDONLY, 0o600) // import may create the database
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
