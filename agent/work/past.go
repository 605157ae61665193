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

// past writes the git history for a workspace, which is already in use meanwhile.
type past struct {
	dir    string
	cancel context.CancelFunc
	done   chan struct{}
}

// end stops the writer and waits for it.
func (p *past) end() {
	p.cancel()
	<-p.done
}

// startPast starts to write the history of the saved state to a directory.
func (e *Engine) startPast(ctx context.Context, j Job, branch string, want gitops.BaseWant, dir string) (*past, error) {
	files, objects := filepath.Join(dir, workspace.GitFiles), filepath.Join(dir, workspace.GitObjects)
	for _, d := range []string{dir, files, objects} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	ignored := filepath.Join(dir, workspace.GitIgnored)
	if err := os.WriteFile(ignored, []byte(j.Repo.Settings().Ignored), 0o644); err != nil {
		return nil, err
	}
	if j.Repo.Settings().Caseless {
		if err := os.WriteFile(filepath.Join(dir, workspace.GitCaseless), nil, 0o644); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &past{dir: dir, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		err := e.cfg.Bases.past(ctx, j.Repo, gitops.Past{
			Want: want, Branch: cmp.Or(branch, "work"), Main: j.Onto, Files: files, Objects: objects,
			Share: want.Layers, // an engine with overlays has a wall
		})
		name := workspace.GitReady
		if err != nil {
			name = workspace.GitFailed
		}
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), nil, 0o644)); err != nil && ctx.Err() == nil {
			err = workspace.FullDisk(err, "the session goes on without it")
			e.cfg.Log.Warn("git shows no past in the workspace", "session", j.Task.Session, "err", err)
		}
	}()
	return p, nil
}

// past writes the git history.
func (b *Bases) past(ctx context.Context, repo *gitops.Mirror, p gitops.Past) (err error) {
	defer func() {
		if v := recover(); v != nil { // hostile objects can cause a panic; the session continues
			err = fmt.Errorf("write past: panic: %v", v)
		}
	}()
	if p.Main == "" {
		p.Main, p.MainAt, err = repo.Default(ctx)
	} else {
		p.MainAt, err = repo.Resolve(ctx, p.Main)
	}
	if err != nil { // the branch is missing
		p.Main, p.MainAt = "", ""
	}
	return b.store.WritePast(ctx, repo, p)
}
