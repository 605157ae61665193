package agent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// journal is the log of a session with its fold. All writes to the log go through it.
type journal struct {
	*history
	log      session.Log
	redactor *secret.Redactor
	onEvent  func(session.Event)
	onLive   func(Live)
	logger   *slog.Logger
}

func newJournal(a *Agent, log session.Log) *journal {
	cfg := a.cfg
	return &journal{
		history:  newHistory(a.edits),
		log:      log,
		redactor: cfg.Redactor,
		onEvent:  cfg.OnEvent,
		onLive:   cfg.OnLive,
		logger:   cfg.Log,
	}
}

// open reads the log, and records the task when the log is empty.
func (j *journal) open(ctx context.Context, task session.Task) error {
	if err := j.catchUp(ctx); err != nil {
		return err
	}
	if j.Seq == 0 {
		if err := j.record(ctx, session.NewEvent(session.TypeOpened, 0, session.Opened{Task: task})); err != nil {
			return err
		}
	}
	_, err := policy.ParseMode(cmp.Or(j.Mode, j.Task.Mode))
	return err
}

// catchUp folds events that other writers appended.
func (j *journal) catchUp(ctx context.Context) error {
	events, err := j.log.Events(ctx, j.Seq)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	for _, e := range events {
		if err := j.apply(e); err != nil {
			return err
		}
	}
	return nil
}

// record stores events, then folds and shows them. Events that other writers appended in
// the meantime are folded first, in log order.
func (j *journal) record(ctx context.Context, events ...*session.Event) error {
	for _, e := range events {
		if err := j.sanitize(ctx, e); err != nil {
			return err
		}
	}
	if err := j.log.Append(ctx, events...); err != nil {
		return fmt.Errorf("append to log: %w", err)
	}
	if events[0].Seq != j.Seq+1 {
		if err := j.catchUp(ctx); err != nil {
			return err
		}
	} else {
		for _, e := range events {
			if err := j.apply(*e); err != nil {
				return err
			}
		}
	}
	for _, e := range events {
		if j.onEvent != nil {
			j.onEvent(*e)
		}
	}
	return nil
}

// tell records a note of the engine to the model.
func (j *journal) tell(ctx context.Context, kind session.NoteKind, text string) error {
	return j.record(ctx, session.NewEvent(session.TypeNote, j.Turns, session.Note{Kind: kind, Text: text}))
}

// live reports progress that is not an event.
func (j *journal) live(l Live) {
	if j.onLive != nil {
		j.onLive(l)
	}
}

// sanitize prepares an event for the log. The model, the approvers and the store see only
// recorded events, so secrets and invisible characters are removed here.
//
// The arguments of a call are executed as they are: only known secrets are removed from
// them. An approval request keeps its invisible characters, because they are made visible
// when it is displayed.
func (j *journal) sanitize(ctx context.Context, e *session.Event) error {
	known := j.redactor.Known()
	var secrets int
	var hidden untrusted.Removed
	err := session.Rewrite(e, func(key, text string) string {
		n := 0
		if key == "arguments" {
			text, n = known.Redact(text) //control:redact-arguments
			secrets += n
			return text
		}
		if e.Type == session.TypeResult && (key == "content" || key == "title" || key == "output") {
			var found untrusted.Removed
			text, found = untrusted.CleanPlain(text) //control:clean-results
			hidden = hidden.Plus(found)
		}
		text, n = j.redactor.Redact(text) //control:redact-events
		secrets += n
		return text
	})
	if secrets > 0 || hidden.Total() > 0 {
		j.logger.InfoContext(ctx, "event cleaned", "session", j.Task.Session, "type", string(e.Type),
			"secrets", secrets, "removed", hidden.Total(), "what", hidden.String())
	}
	return err
}
