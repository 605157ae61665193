package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/terminal"
)

type chatCmd struct {
	Session string `arg:"" optional:"" help:"Session to continue; a new one otherwise."`
	beginFlags
	localFlags
}

// Run runs a session as a conversation in the terminal, or on the lines of a pipe.
func (c *chatCmd) Run(ctx context.Context, w *console) error {
	if strings.Contains(c.Session, " ") {
		return door.Usage("%q is no session: `handrail chat` alone begins one, and asks for requests", c.Session)
	}
	known, err := environmentSecrets()
	if err != nil {
		return door.UsageError{Err: err}
	}
	cfg := local.Config{Console: w.door(), In: terminal.Lines(w.in, w.out), Wish: c.wish(w, c.beginFlags)}
	cfg.Wish.Session = c.Session
	cfg.Redact = func(text string) string { text, _ = known.Redactor.Redact(text); return text }
	cfg.Engine = func(ctx context.Context, s *local.Session) (local.Engine, func() error, error) {
		return c.engine(ctx, w, s)
	}
	shows := terminal.Config{Out: w.out, Look: terminal.LookOf(w.raw), Yes: c.Yes, Brief: true, Log: w.logs}
	if shows.Look.Live {
		history := ""
		if dir, err := local.Dir(); err == nil && os.MkdirAll(dir, 0o700) == nil {
			history = filepath.Join(filepath.Dir(dir), "history")
		}
		cfg.Editor = w.editor(terminal.EditorConfig{History: history, Complete: local.Complete})
	}
	if cfg.Editor != nil {
		cfg.In, shows.In = cfg.Editor, cfg.Editor // in a pipe each line is a request, never an answer
	}
	cfg.Term = terminal.New(shows)
	return local.Run(ctx, cfg)
}

// editor returns an editor of lines if a user types at the terminal, and nil otherwise.
func (w *console) editor(c terminal.EditorConfig) *terminal.Editor {
	in, ok := w.in.(*os.File)
	if !ok || !terminal.IsPerson(in) {
		return nil
	}
	c.In, c.Out = in, w.raw
	if terminal.IsPerson(os.Stderr) {
		c.Log = w.logs
	}
	return terminal.NewEditor(c)
}
