// A chat is a session as a conversation in the terminal: each line is a request, or a
// command for the chat if it begins with a slash.
//
//	chat.go      reads lines and works on requests; start reading here
//	commands.go  the commands that begin with a slash
//	words.go     files and pictures named in a request

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Config configures a chat. Only Editor is optional.
type Config struct {
	Console *door.Console
	Term    *terminal.Terminal
	In      terminal.Input
	Editor  *terminal.Editor // In, if it is a terminal; nil for a pipe
	Wish    Wish             // the beginning of the session
	// Engine returns the engine for the session, and a function that closes it.
	Engine func(context.Context, *Session) (Engine, func() error, error)
	// Redact removes secrets from a file before the model reads it.
	Redact func(string) string
}

// chat is a conversation.
type chat struct {
	Config
	s      *Session // nil before the first request
	engine Engine
	end    func() error
	mode   string // default for requests; empty means the session's own
	images []session.Blob
	next   []string // commands that were typed during the work
	last   session.Outcome
	failed bool // a line was invalid, or did not end well
	quit   bool
}

// Run talks until the input ends or the user quits. In a pipe it fails if a line failed.
func Run(ctx context.Context, cfg Config) (err error) {
	c := &chat{Config: cfg, mode: cfg.Wish.With.Mode}
	ctx = context.WithoutCancel(ctx) // Ctrl-C ends the current work only, see work
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	if cfg.Wish.Session != "" {
		if err := c.greet(); err != nil {
			return err
		}
	} else {
		c.Term.Say("What would you like to do? /help lists the commands.")
	}
	for !c.quit {
		line, err := c.line(ctx)
		if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
			break
		}
		if err == nil {
			err = c.handleLine(ctx, strings.TrimSpace(line))
		}
		if err := c.report(err); err != nil {
			return err
		}
	}
	if c.s != nil && c.Editor != nil {
		c.Term.Say("Continue with: %s", terminal.Command("chat", c.s.Task.Session))
	}
	if c.failed && c.Editor == nil {
		return door.ErrFailed
	}
	return nil
}

// line asks for the next line.
func (c *chat) line(ctx context.Context) (string, error) {
	if len(c.next) > 0 {
		line := c.next[0]
		c.next = c.next[1:]
		c.Term.Say("%s%s", c.prompt(), untrusted.EscapeLine(line))
		return line, nil
	}
	ctx, stop := door.UntilSignal(ctx)
	defer stop()
	if c.Editor == nil {
		line, err := c.In.Line(ctx, "")
		if err == nil && strings.TrimSpace(line) != "" {
			c.Term.Say("%s%s", c.prompt(), untrusted.EscapeLine(line))
		}
		return line, err
	}
	line, err := c.In.Line(ctx, c.prompt())
	if err == nil {
		_ = c.Editor.Remember(line) // best effort: without history the line can be typed again
	}
	return line, err
}

func (c *chat) prompt() string {
	return "\n" + cmp.Or(c.mode, "code") + "> "
}

// report prints a usage error, so that the chat continues. In a pipe, an error that keeps
// the session from beginning is returned instead: later lines cannot correct it.
func (c *chat) report(err error) error {
	var use door.UsageError
	if err == nil || !errors.As(err, &use) || c.Editor == nil && errors.As(err, new(notBegun)) {
		return err
	}
	c.failed = true
	c.Term.Say("! %s", untrusted.EscapeLine(use.Error()))
	return nil
}

// notBegun is the reason for a missing session. It applies to the next line as well.
type notBegun struct{ error }

// Unwrap returns the reason.
func (e notBegun) Unwrap() error { return e.error }

// greet shows the session that the chat continues.
func (c *chat) greet() error {
	r, err := Read(c.Wish.Session)
	if err != nil {
		return err
	}
	c.mode = r.State.ModeName()
	c.last = session.Outcome{}
	if r.State.Outcome != nil {
		c.last = *r.State.Outcome
	}
	c.Term.Say("Session %s (%s): %s", r.ID, r.Phase(), Title(r.State.Task.Text))
	return nil
}

// handleLine runs the command or the request of a line.
func (c *chat) handleLine(ctx context.Context, line string) error {
	if line == "" {
		return nil
	}
	if name, rest, ok := lineCommand(line); ok {
		return c.runCommand(ctx, name, rest)
	}
	return c.request(ctx, line, c.mode)
}

// request has the session work on a request of the user.
func (c *chat) request(ctx context.Context, text, mode string) error {
	w := c.Wish
	w.Text, w.With = text, policy.Choice{Mode: mode, Model: c.Wish.With.Model, Turns: c.Wish.With.Turns}
	var err error
	if w.Context, w.Images, err = c.namedFiles(text); err != nil {
		return err
	}
	w.Images = append(c.images, w.Images...)
	if c.s != nil {
		w.With.Turns = 0
	}
	if err := c.work(ctx, w); err != nil {
		return err
	}
	c.images = nil
	if c.mode == "" { // a mode given for the first request does not apply to the next
		c.mode = "code"
		if mode == "" {
			c.mode = c.s.Task.Mode
		}
	}
	return nil
}

// work runs the session until it ends or parks.
func (c *chat) work(ctx context.Context, w Wish) error {
	ctx, stop := door.UntilSignal(ctx)
	defer stop()
	if c.s == nil {
		s, err := Open(ctx, c.Term, w)
		if err != nil {
			return notBegun{err}
		}
		e, end, err := c.Engine(ctx, s)
		if err != nil {
			return notBegun{errors.Join(err, s.Close(context.WithoutCancel(ctx)))}
		}
		c.s, c.engine, c.end = s, e, end
		s.Listen(c.Editor, c.typed)
		c.Wish.Session = s.Task.Session
	} else if err := c.s.addMessage(ctx, w); err != nil {
		return err
	}
	if c.Editor != nil {
		c.Editor.OnEnd = stop // for Ctrl-C at a question
		defer func() { c.Editor.OnEnd = nil }()
	}
	var err error
	c.last, err = c.s.Work(ctx, c.engine)
	c.failed = c.failed || err == nil && !Succeeded(c.last)
	return err
}

// typed takes a line that is typed during the work: a request reaches the model before its
// next turn, a command waits for the end of the work.
func (c *chat) typed(ctx context.Context, line string) error {
	_ = c.Editor.Remember(line) // best effort: without history the line can be typed again
	if _, _, ok := lineCommand(line); ok {
		c.next = append(c.next, line)
		c.Term.Say("  (after the work; Ctrl-C ends the work)")
		return nil
	}
	items, images, err := c.namedFiles(line)
	if err != nil {
		return err
	}
	return c.s.Interject(ctx, Wish{Text: line, Context: items, Images: images})
}

func (c *chat) close(ctx context.Context) error {
	var err error
	if c.end != nil {
		err = c.end()
	}
	if c.s != nil {
		err = errors.Join(err, c.s.Close(ctx))
	}
	if err != nil {
		return fmt.Errorf("end the chat: %w", err)
	}
	return nil
}
