package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
)

// Exports holds exported commits as directories, one of each, for workspaces to
// lay overlays on. Nothing ever writes to them. Only one process may use it.
type Exports struct {
	dir string

	mu   sync.Mutex
	have map[string]*base
	tick int
}

// errNoExport means that a commit, or a part of it, cannot be read.
var errNoExport = errors.New("read commit")

// mostBases is how many unused exports stay for later sessions.
const mostBases = 8

type base struct {
	path string
	once sync.Once
	err  error
	uses int
	last int
}

// OpenExports takes dir over: what an earlier process left there is removed. The
// directory itself stays, since it may be a volume.
func OpenExports(dir string) (*Exports, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make directory for exports: %w", err)
	}
	left, err := os.ReadDir(dir)
	for _, e := range left {
		err = errors.Join(err, workspace.RemoveTree(filepath.Join(dir, e.Name())))
	}
	if err != nil {
		return nil, fmt.Errorf("clear %s: %w", dir, err)
	}
	return &Exports{dir: dir, have: map[string]*base{}}, nil
}

// take returns a directory with the files of a commit; give it back with
// drop. An empty commit id means an empty directory.
//
// Where ignoreAt is a commit, what the agent may not see is as there.
func (b *Exports) take(ctx context.Context, repo *gitops.Mirror, commit, ignoreAt string) (path string, drop func(), err error) {
	name := commit
	if ignoreAt != "" {
		name += "-" + ignoreAt
	}
	b.mu.Lock()
	e := b.have[name]
	if e == nil {
		e = &base{path: filepath.Join(b.dir, "c-"+name)}
		b.have[name] = e
	}
	e.uses++
	b.mu.Unlock()
	drop = func() { b.drop(name, e) }
	e.once.Do(func() {
		if e.err = b.export(ctx, repo, commit, e.path); e.err == nil && ignoreAt != "" { //control:fork-ignore
			e.err = ignoreAs(ctx, repo, ignoreAt, e.path)
		}
		if e.err == nil {
			e.err = workspace.Give(ctx, e.path)
		}
	})
	if e.err != nil {
		drop()
		return "", nil, e.err
	}
	return e.path, drop, nil
}

func (b *Exports) export(ctx context.Context, repo *gitops.Mirror, commit, path string) error {
	if err := os.Mkdir(path, 0o755); err != nil {
		return fmt.Errorf("make directory for export: %w", err)
	}
	if commit != "" {
		if err := repo.Export(ctx, commit, path); err != nil {
			if ctx.Err() == nil && !errors.Is(err, workspace.ErrFull) && !errors.Is(err, gitops.ErrTooLarge) {
				err = fmt.Errorf("%w: %w", errNoExport, err)
			}
			return errors.Join(err, workspace.RemoveTree(path))
		}
	}
	return nil
}

// drop gives an export back. It forgets one that failed, and removes the oldest
// exports that nobody uses.
func (b *Exports) drop(name string, e *base) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick++
	e.uses--
	e.last = b.tick
	if e.err != nil && b.have[name] == e {
		delete(b.have, name)
	}
	for len(b.have) > mostBases {
		oldest := ""
		for c, have := range b.have {
			if have.uses == 0 && (oldest == "" || have.last < b.have[oldest].last) {
				oldest = c
			}
		}
		if oldest == "" {
			return
		}
		_ = workspace.RemoveTree(b.have[oldest].path) // what stays is removed at the next start
		delete(b.have, oldest)
	}
}
