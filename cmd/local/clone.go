// The bot's questions that need a clone of the repository.

package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/custom"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// Clone implements [bot.Clone].
type Clone struct {
	// returns the updated mirror of the thread's repository
	Mirror func(ctx context.Context, at live.Thread) (*gitops.Mirror, error)
	// returns the repository's configuration
	Rules func(ctx context.Context, m *gitops.Mirror) (cfg policy.Config, err error)
}

// Commands implements [bot.Clone].
func (c Clone) Commands(ctx context.Context, at live.Thread, taken func(name string) string) (command.Book, error) {
	m, err := c.Mirror(ctx, at)
	if err != nil {
		return command.Book{}, err
	}
	files, err := commandFiles(ctx, m)
	return command.Book{Book: custom.Read(files, taken)}, err
}

// Config implements [bot.Clone].
func (c Clone) Config(ctx context.Context, at live.Thread) (policy.Config, error) {
	m, err := c.Mirror(ctx, at)
	if err != nil {
		return policy.Config{}, err
	}
	return c.Rules(ctx, m)
}

// Image implements [bot.Clone].
func (c Clone) Image(ctx context.Context, at live.Thread, in policy.Config) (out session.Image, err error) {
	if in.Workspace.Image != "" || in.Workspace.Engine != "docker" {
		return out, nil // a configured image is shown anyway
	}
	m, err := c.Mirror(ctx, at)
	if err != nil {
		return out, err
	}
	_, head, err := m.Default(ctx)
	if err == nil {
		out, err = project.FindImage(ctx, work.FilesAt(m, head), in.AllowsImage)
	}
	if err == nil && out.Name == "" {
		out.Name, out.Why = workspace.DefaultImage, "the repository asks for no other image"
	}
	return out, err
}

// Diff implements [bot.Clone].
func (c Clone) Diff(ctx context.Context, at live.Thread, from, to string) (string, error) {
	return c.diff(ctx, at, from, to, render.MaxDiff)
}

// Patch implements [bot.Clone].
func (c Clone) Patch(ctx context.Context, at live.Thread, from, to string) (string, error) {
	return c.diff(ctx, at, from, to, 0)
}

func (c Clone) diff(ctx context.Context, at live.Thread, from, to string, limit int) (string, error) {
	m, err := c.Mirror(ctx, at)
	if err != nil {
		return "", err
	}
	text, _, err := m.Diff(ctx, from, to, gitops.DiffOptions{Binary: true, MaxBytes: limit})
	return text, err
}

// Hidden implements [bot.Clone].
func (c Clone) Hidden(ctx context.Context, at live.Thread) (func(path string) bool, error) {
	m, err := c.Mirror(ctx, at)
	if err != nil {
		return nil, err
	}
	return hidden(ctx, m, *at.Pull)
}

// Hides returns a function that finds the hidden files of any pull request of a clone.
func Hides(m *gitops.Mirror) func(ctx context.Context, p ghapp.Pull) (func(path string) bool, error) {
	return func(ctx context.Context, p ghapp.Pull) (func(path string) bool, error) {
		if err := m.Fetch(ctx); err != nil {
			return nil, err
		}
		return hidden(ctx, m, p)
	}
}

// commandFiles returns the files of the repository's own commands, from the default
// branch only: push access to another branch must not change the commands of other users.
func commandFiles(ctx context.Context, m *gitops.Mirror) ([]custom.File, error) {
	_, head, err := m.Default(ctx) //control:own-commands-of-the-base
	if err != nil {
		return nil, err
	}
	list, err := m.List(ctx, head, custom.Dir, false)
	if errors.Is(err, gitops.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []custom.File
	for _, e := range list {
		if !custom.IsCommand(e.Path) {
			continue
		}
		f := custom.File{Path: e.Path}
		if e.Kind == gitops.IsDir || e.Kind == gitops.IsSymlink || e.Kind == gitops.IsSubmodule {
			f.Err = fmt.Errorf("%s: it is no plain file", e.Path)
		} else if f.Data, err = m.ReadFile(ctx, head, e.Path, custom.MaxBytes); errors.Is(err, gitops.ErrTooLarge) {
			f.Err = fmt.Errorf("%s: more than %d bytes are not read", e.Path, custom.MaxBytes)
		} else if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// hidden returns a filter for the files of a pull request that are hidden from the agent,
// by the .agentignore of the base branch. The pull request's own .agentignore counts as
// well, unless it comes from a fork.
func hidden(ctx context.Context, m *gitops.Mirror, p ghapp.Pull) (func(path string) bool, error) {
	base, err := m.Resolve(ctx, "refs/heads/"+p.Base)
	if errors.Is(err, gitops.ErrNotFound) { // the base branch was deleted
		_, base, err = m.Default(ctx)
	}
	if err != nil {
		return nil, err
	}
	trees := []project.Files{work.FilesAt(m, base)}
	head, err := m.Resolve(ctx, "refs/heads/"+p.Head)
	if err != nil && !errors.Is(err, gitops.ErrNotFound) {
		return nil, err
	}
	if err == nil && !p.Fork {
		trees = append(trees, work.FilesAt(m, head))
	}
	rules, err := project.HiddenBy(ctx, trees...)
	return rules.Hides, err
}

// Offer pushes an edit to a branch of its own for review. It returns the reason for a
// refused push, or "".
func Offer(ctx context.Context, m *gitops.Mirror, o approval.Offer) (string, error) {
	if _, err := m.Resolve(ctx, o.Commit); err != nil {
		if errors.Is(err, gitops.ErrNotFound) {
			return "", approval.ErrGone
		}
		return "", err
	}
	base := "refs/heads/" + o.Base
	if _, err := m.Resolve(ctx, base); errors.Is(err, gitops.ErrNotFound) {
		if why, err := refusedPush(m.Push(ctx, gitops.Push{Commit: o.Parent, Ref: base, Create: true})); why != "" ||
			err != nil {
			return why, err
		}
	} else if err != nil {
		return "", err
	}
	return refusedPush(m.Push(ctx, gitops.Push{Commit: o.Commit, Ref: "refs/heads/" + o.Branch, Create: true}))
}

// refusedPush returns the reason for a failure that another attempt would not change. Any
// other failure is the error.
func refusedPush(err error) (string, error) {
	var refused *gitops.RemoteError
	if errors.As(err, &refused) || errors.Is(err, gitops.ErrAuth) {
		return fmt.Sprintf("its branch could not be pushed (%v)", err), nil
	}
	return "", err
}
