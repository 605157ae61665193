package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/cmd/telemetry"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

type showCmd struct {
	records.Flags `embed:""`

	Session string `arg:"" help:"Id of the session, or git:REPOSITORY#SESSION for one that is in a repository."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
}

// shown is one session, and the contract of `handrail sessions show --json`. Traces are
// the ids of the traces of its runs that have ended, which a server with traces sent.
type shown struct {
	Session string    `json:"session"`
	State   string    `json:"state"`
	Where   string    `json:"where,omitempty"`
	Branch  string    `json:"branch,omitempty"`
	Model   string    `json:"model,omitempty"`
	Commit  string    `json:"commit,omitempty"`
	Began   time.Time `json:"began"`
	Last    time.Time `json:"last"` // time of the last event
	Events  int       `json:"events"`
	Traces  []string  `json:"traces"`
}

// Run shows where to find the parts of one session.
func (c *showCmd) Run(ctx context.Context, w *door.Console) error {
	id, events, err := (&exportCmd{Flags: c.Flags, Session: c.Session}).read(ctx, w)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return fmt.Errorf("show session %s: %w", c.Session, store.ErrNotFound)
	}
	v, err := session.Fold(events)
	if err != nil {
		return err
	}
	out := shown{
		Session: id,
		State:   string(v.Phase),
		Where:   v.Task.Thread,
		Branch:  v.Branch,
		Model:   v.ModelName(),
		Commit:  v.Published,
		Began:   events[0].Time,
		Last:    events[len(events)-1].Time,
		Events:  len(events),
		Traces:  append([]string{}, telemetry.TraceIDs(id, events)...),
	}
	if out.Where == "" {
		out.Where = v.Task.Clone.Path
	}
	if c.JSON {
		return door.JSONLine(w.Out, out)
	}
	return w.Table(out.rows())
}

// rows returns the session for the operator.
func (s shown) rows() (list [][]string) {
	line := func(name, text string) {
		if text != "" {
			list = append(list, []string{name, untrusted.EscapeLine(text)})
		}
	}
	line("session", s.Session)
	line("state", s.State)
	line("where", s.Where)
	line("branch", s.Branch)
	line("commit", s.Commit)
	line("model", s.Model)
	line("events", fmt.Sprintf("%d, from %s to %s", s.Events, s.Began.Format(time.DateTime), s.Last.Format(time.DateTime)))
	for _, id := range s.Traces {
		line("trace", id)
	}
	line("story", "handrail replay "+s.Session)
	return list
}
