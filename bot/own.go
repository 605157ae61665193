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

// Clone gives access to a repository by way of a clone.
type Clone interface {
	// Commands returns the repository's own commands, as they are on the default branch.
	// taken returns the reason why a name is not available, or "".
	Commands(ctx context.Context, at live.Thread, taken func(name string) string) (command.Book, error)
	// Config returns the configuration on the default branch.
	Config(ctx context.Context, at live.Thread) (policy.Config, error)
	// Image returns the image for commands of a new session and, if the configuration in
	// force names none, the reason for it. It is empty if the engine runs no images.
	Image(ctx context.Context, at live.Thread, in policy.Config) (session.Image, error)
	// Hidden returns a function that tells whether the agent may not see a file.
	Hidden(ctx context.Context, at live.Thread) (func(path string) bool, error)
	// Diff returns a diff in the format of git apply, truncated if it is large.
	Diff(ctx context.Context, at live.Thread, from, to string) (string, error)
	// Patch is Diff of whatever size.
	Patch(ctx context.Context, at live.Thread, from, to string) (string, error)
}

// Taken returns the reason why a repository's own command cannot have a name, or "".
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

// callOwn turns a task that calls one of the repository's own commands into a task with
// its text. It reports whether the request is over because the user was told of an error.
func (r *request) callOwn(ctx context.Context) (over bool, err error) {
	modeWord := r.cmd.Mode != "" && !strings.Contains(r.msg.body, "--mode") // "/agent review notes" is about the notes
	if r.cmd.Name != command.Task || r.cmd.Explicit || modeWord {
		return false, nil
	}
	said := r.commandText()
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
	c, rest, ok := command.FindOwn(book, said)
	if !ok {
		return false, nil
	}
	text, wrong := "", ""
	if c.Err == nil {
		text, wrong = c.Call(rest)
	}
	switch {
	case c.Err != nil:
		r.reply(render.CustomBroken(c))
	case wrong != "":
		r.reply(render.CustomMisuse(c, wrong))
	case c.Mode != "" && r.cmd.Mode != "" && c.Mode != r.cmd.Mode:
		r.reply(render.CustomModeConflict(c, r.cmd.Mode))
	default:
		r.own = text
		if c.Mode != "" {
			r.cmd.Mode = c.Mode
		}
		return false, nil
	}
	return true, nil
}
