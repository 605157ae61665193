// The verbs that show the logs of sessions and verify their integrity. They need no
// secret of a server: sealed content is shown if the key is available, and counted
// otherwise.
//
//	replay.go  a session, as shown to its users or event by event
//	audit.go   hash chains and signatures

package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Replay is handrail replay.
type Replay struct {
	records.Flags `embed:""`

	Session string `arg:"" optional:"" help:"Id of a session, a file with its log, or git:REPOSITORY#SESSION; the last one of handrail run otherwise."`
	Upto    int64  `placeholder:"N" help:"Stop after this event; everything otherwise."`
	Events  bool   `help:"Print the events instead of the texts that users saw."`
	JSON    bool   `name:"json" help:"Print the events as lines of JSON."`
}

// Run prints a session's log.
func (c *Replay) Run(ctx context.Context, w *door.Console) error {
	events, err := c.read(ctx, w)
	if err != nil && !errors.Is(err, store.ErrTorn) {
		return err
	}
	torn := err
	if c.Upto > 0 && c.Upto < int64(len(events)) {
		events = events[:c.Upto]
	}
	if err := session.Verify(events); err != nil {
		return err
	}
	switch {
	case c.JSON:
		err = printJSON(w.Out, events)
	case c.Events:
		var keys records.Keys
		if keys, err = records.EnvironmentKeys(os.Getenv); err == nil {
			err = printEvents(w.Out, events, keys.Contents)
		}
	default:
		err = printStory(w, events)
	}
	return errors.Join(err, torn)
}

func (c *Replay) read(ctx context.Context, w *door.Console) (events []session.Event, err error) {
	if c.Session == "" && c.Unset() {
		if c.Session, err = local.OrLast(ctx, ""); err != nil {
			return nil, err
		}
	}
	if threadref.IsGit(c.Session) {
		_, events, err = readLog(ctx, w, c.Session)
		return events, err
	}
	if isHere(c.Session) && c.Unset() {
		_, events, err = ReadFile(c.Session)
		return events, err
	}
	if c.Unset() && !c.IsThere() {
		return nil, door.Usage(
			"%s is neither a file nor a session of `handrail run` on this machine; of a server's sessions say where its database is, with --data, --database or --config",
			c.Session,
		)
	}
	s, err := c.Open(ctx, w.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	events, err = s.Logs.Log(store.Fence{Key: c.Session}).Events(ctx, 0)
	if err == nil && len(events) == 0 {
		err = door.Usage(
			"%s is neither a file, nor a session in the database or of `handrail run` on this machine",
			c.Session,
		)
	}
	return events, err
}

// printStory prints the session as its users saw it: on the terminal, or in the progress
// comment.
func printStory(w *door.Console, events []session.Event) error {
	v, err := session.Fold(events)
	if err != nil {
		return err
	}
	if v.Task.Thread == "" {
		term := terminal.New(terminal.Config{Out: w.Out, Look: terminal.LookOf(w.Raw), Told: true})
		term.Header(v.Task, cmp.Or(v.Task.Clone.Workspace, "auto"))
		for _, e := range events {
			term.Event(e)
		}
		if v.Outcome != nil {
			term.Outcome(v.Task, *v.Outcome)
		}
		return nil
	}
	out := w.Out
	_, err = fmt.Fprintf(
		out,
		"# Session %s\n\n%s\n\n%s",
		v.Task.Session,
		v.Task.Thread,
		untrusted.OutputOptions{}.Post(render.Progress(v, render.Links{})),
	)
	for _, a := range v.Open() {
		q := render.Request{Request: &session.Request{Asked: a}}
		for _, post := range append(render.Before(q), render.Requests([]render.Request{q}, v.Task.Requester)) {
			if err == nil {
				_, err = fmt.Fprintf(out, "\n%s\n", untrusted.OutputOptions{}.Post(post))
			}
		}
	}
	return err
}

// printEvents prints a line for each event. Sealed contents of files are printed if the
// key opens them, and counted otherwise.
func printEvents(out io.Writer, events []session.Event, key *secret.Key) error {
	events = work.Unseal(key, events)
	for _, e := range events {
		if _, err := fmt.Fprintf(out, "%d\t%s\tturn %d\t%s\t%s\n", e.Seq, e.Time.Format("2006-01-02 15:04:05.000"), e.Turn, e.Type, e.Data); err != nil {
			return err
		}
	}
	if note := sealedNote(events); note != "" {
		_, err := fmt.Fprintf(out, "Not shown: the content of%s; HANDRAIL_LOG_KEY opens it\n", strings.TrimPrefix(note, ","))
		return err
	}
	return nil
}

func printJSON(out io.Writer, events []session.Event) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return nil
}
