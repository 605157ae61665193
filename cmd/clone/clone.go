// Package clone answers for the bot what only a clone of a repository tells.
package clone

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/custom"
	"github.com/handrail-bot/handrail/gitops"
)

// CommandFiles returns the files of the repository's own commands. What other branches
// than the default one have plays no part: who can push to one cannot change what others
// call.
func CommandFiles(ctx context.Context, m *gitops.Mirror) ([]custom.File, error) {
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
		} else if f.Data, err = m.ReadFile(ctx, head, e.Path, custom.MostBytes); errors.Is(err, gitops.ErrTooLarge) {
			f.Err = fmt.Errorf("%s: more than %d bytes are not read", e.Path, custom.MostBytes)
		} else if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// Offer pushes what an edit would be to a branch of its own, to be reviewed there. It
// returns why that cannot be, or "".
func Offer(ctx context.Context, m *gitops.Mirror, o approval.Offer) (string, error) {
	if _, err := m.Resolve(ctx, o.Commit); err != nil {
		if errors.Is(err, gitops.ErrNotFound) {
			return "", approval.ErrGone
		}
		return "", err
	}
	base := "refs/heads/" + o.Base
	if _, err := m.Resolve(ctx, base); errors.Is(err, gitops.ErrNotFound) {
		if why, err := refusedPush(m.Push(ctx, gitops.Push{Commit: o.Parent, Ref: base, Create: true})); why != "" || err != nil {
			return why, err
		}
	} else if err != nil {
		return "", err
	}
	return refusedPush(m.Push(ctx, gitops.Push{Commit: o.Commit, Ref: "refs/heads/" + o.Branch, Create: true}))
}

// refusedPush returns the reason of a failure that another attempt would not
// change. Any other failure is the error.
func refusedPush(err error) (string, error) {
	var refused *gitops.RemoteError
	if errors.As(err, &refused) || errors.Is(err, gitops.ErrAuth) {
		return fmt.Sprintf("its branch could not be pushed (%v)", err), nil
	}
	return "", err
}
