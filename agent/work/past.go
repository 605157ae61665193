package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
)

// past is what git shows inside of a workspace. It is written while the workspace is
// already in use.
type past struct {
	dir    string
	cancel context.CancelFunc
	done   chan struct{}
}

// end waits until nobody writes any more.
func (p *past) end() {
	p.cancel()
	<-p.done
}

// startPast writes the past of the saved state to a directory.
func (e *Engine) startPast(ctx context.Context, j Job, branch string, want gitops.BaseWant, dir string) (*past, error) {
	files, objects := filepath.Join(dir, workspace.GitFiles), filepath.Join(dir, workspace.GitObjects)
	for _, d := range []string{dir, files, objects} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &past{dir: dir, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		err := e.cfg.Bases.past(ctx, j.Repo, gitops.Past{
			Want: want, Branch: cmp.Or(branch, "work"), Main: j.Onto, Files: files, Objects: objects,
			Share: want.Layers, // who lays overlays has a wall around them
		})
		name := workspace.GitReady
		if err != nil {
			name = workspace.GitFailed
		}
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), nil, 0o644)); err != nil && ctx.Err() == nil {
			e.cfg.Log.Warn("git shows no past in the workspace", "session", j.Task.Session, "err", err)
		}
	}()
	return p, nil
}

// past writes what git shows.
func (b *Bases) past(ctx context.Context, repo *gitops.Mirror, p gitops.Past) (err error) {
	defer func() {
		if v := recover(); v != nil { // over objects that somebody made so; the session goes on
			err = fmt.Errorf("write past: panic: %v", v)
		}
	}()
	if p.Main == "" {
		p.Main, p.MainAt, err = repo.Default(ctx)
	} else {
		p.MainAt, err = repo.Resolve(ctx, p.Main)
	}
	if err != nil { // the branch is gone, or there is none
		p.Main, p.MainAt = "", ""
	}
	return b.store.WritePast(ctx, repo, p)
}
