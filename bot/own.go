package bot

import (
	"context"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// Clone tells what only a clone of a repository does.
type Clone interface {
	// Commands returns the repository's own commands, as they are on the default branch.
	// Taken says why a name cannot be that of one.
	Commands(ctx context.Context, at live.Thread, taken func(name string) string) (command.Book, error)
	// Config returns the configuration of the repository, as it is there.
	Config(ctx context.Context, at live.Thread) (policy.Config, error)
	// Image returns the image that commands of a new session run in, and why, where the
	// configuration in force names none; nothing where the engine runs no images.
	Image(ctx context.Context, at live.Thread, in policy.Config) (session.Image, error)
	// Hidden returns which files of the pull request are hidden from the agent.
	Hidden(ctx context.Context, at live.Thread) (func(path string) bool, error)
	// Diff returns what differs between two commits, as git apply takes it; of much, a part.
	Diff(ctx context.Context, at live.Thread, from, to string) (string, error)
}

// Taken returns why a name cannot be that of a repository's own command, "" when it can.
func Taken(name string) string { return specs(commands()).Taken(name) }

// book returns the repository's own commands.
func (r *request) book(ctx context.Context) (command.Book, error) {
	if r.w.cfg.Clone == nil {
		return command.Book{}, nil
	}
	if r.c.book == nil {
		b, err := r.w.cfg.Clone.Commands(ctx, *r.at, specs(r.w.rows).Taken)
		if err != nil {
			return b, err
		}
		r.c.book = &b
	}
	return *r.c.book, nil
}

// callOwn finds out whether a task calls a command of the repository's own, and then
// makes it one in the words of that. It reports whether that is all: the person was told
// what is wrong.
func (r *request) callOwn(ctx context.Context) (over bool, err error) {
	modeWord := r.cmd.Mode != "" && !strings.Contains(r.msg.body, "--mode") // "/agent review notes" is about the notes
	if r.cmd.Name != command.Task || r.cmd.Explicit || modeWord {
		return false, nil
	}
	said := r.said()
	if !command.MayCallOwn(said) {
		return false, nil
	}
	book, err := r.book(ctx)
	if fault.Temporary(err) {
		return false, err
	}
	if err != nil {
		r.reply(render.CouldNotStart(fault.InWords(err)))
		return true, nil
	}
	c, rest, ok := command.OwnCalled(book, said)
	if !ok {
		return false, nil
	}
	text, wrong := "", ""
	if c.Err == nil {
		text, wrong = c.Call(rest)
	}
	switch {
	case c.Err != nil:
		r.reply(render.OwnBroken(c))
	case wrong != "":
		r.reply(render.OwnUse(c, wrong))
	case c.Mode != "" && r.cmd.Mode != "" && c.Mode != r.cmd.Mode:
		r.reply(render.OwnMode(c, r.cmd.Mode))
	default:
		r.own = text
		if c.Mode != "" {
			r.cmd.Mode = c.Mode
		}
		return false, nil
	}
	return true, nil
}
