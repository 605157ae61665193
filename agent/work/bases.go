package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
)

// Bases holds the files of commits, as lower layers of overlays, and the directories of
// workspaces. Several processes may share one.
type Bases struct {
	dir   string
	store *gitops.Bases

	mu     sync.Mutex
	rules  map[string]project.Hidden // by commits
	charts map[string]string         // charts of the most used definitions, see [Bases.chart]
	known  map[string]*known         // by [contentKey]
}

// errNoBase means that a commit is unreadable, in whole or in part.
var errNoBase = errors.New("read commit")

// OpenBases opens the bases at cfg.Dir. Workspaces are created below dir; the leftovers
// of dead processes are removed from it.
func OpenBases(cfg gitops.BasesConfig, dir string) (*Bases, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make directory for workspaces: %w", err)
	}
	cfg.UID, cfg.GID = workspace.Owner()
	store, err := gitops.OpenBases(cfg)
	if err != nil {
		return nil, err
	}
	left, err := store.Leftovers(dir, "ws")
	old, globErr := filepath.Glob(filepath.Join(dir, "c-*")) // left by versions without a store
	err = errors.Join(err, globErr)
	for _, name := range append(left, old...) {
		err = errors.Join(err, workspace.RemoveTree(name))
	}
	if err != nil {
		return nil, fmt.Errorf("clear %s: %w", dir, err)
	}
	return &Bases{
		dir:    dir,
		store:  store,
		rules:  map[string]project.Hidden{},
		charts: map[string]string{},
		known:  map[string]*known{},
	}, nil
}

// RemoveUnused removes bases and set-up layers that no session has used for the given
// time. It does nothing if e is nil.
func (e *Engine) RemoveUnused(unused time.Duration) error {
	if e == nil {
		return nil
	}
	return errors.Join(e.cfg.Bases.store.RemoveUnused(unused), e.cfg.SetUps.Layers.RemoveUnused(unused))
}

// maxRules is the maximum number of cached rule sets, and of cached charts.
const maxRules = 64

// chart adds the most used definitions of a fresh workspace to facts. They are cached
// by its visible content: commit, hiding rules, paths and layer. The chart of base, which
// the session began from, serves its later commits. So sessions start sooner, and a resumed
// session keeps its prompt.
func (b *Bases) chart(ctx context.Context, facts *project.Facts, ws place, commit, base string) error {
	key := contentKey(ws, commit) //control:chart-of-its-commit
	b.mu.Lock()
	known, ok := b.charts[contentKey(ws, base)]
	if !ok {
		known, ok = b.charts[key]
	}
	b.mu.Unlock()
	if ok {
		facts.Charted = known
		return nil
	}
	if err := facts.Chart(ctx, ws); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.charts) >= maxRules {
		clear(b.charts)
	}
	b.charts[key] = facts.Charted
	return nil
}

// hidden returns the combined hiding rules of commits.
func (b *Bases) hidden(ctx context.Context, repo *gitops.Mirror, commits []string) (project.Hidden, error) {
	key := strings.Join(commits, " ")
	b.mu.Lock()
	known, ok := b.rules[key]
	b.mu.Unlock()
	if ok {
		return known, nil
	}
	trees := make([]project.Files, len(commits))
	for i, commit := range commits {
		trees[i] = ruleFiles{commitFiles{repo: repo, commit: commit}, b.store}
	}
	h, err := project.HiddenBy(ctx, trees...)
	if err != nil {
		return h, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.rules) >= maxRules {
		clear(b.rules)
	}
	b.rules[key] = h
	return h, nil
}

// ruleFiles is a commit's tree reduced to the files with hiding rules.
type ruleFiles struct {
	commitFiles
	store *gitops.Bases
}

// List implements project.Files.
func (r ruleFiles) List(ctx context.Context, _ string, _ bool, _ int) (workspace.Listing, error) {
	found, err := r.store.Find(ctx, r.repo, r.commit, project.IgnoreName)
	out := workspace.Listing{Base: "."}
	for _, name := range found {
		out.Entries = append(out.Entries, workspace.Entry{Path: name})
	}
	return out, err
}

// rulesOf returns the rules of a base. If from is a commit, its rules apply: the author
// of external files must not decide which of our files are visible.
func rulesOf(from string, hidden project.Hidden) gitops.BaseRules {
	r := gitops.BaseRules{Name: project.IgnoreName, From: from}
	if hidden.Key != "" {
		r.Hides, r.Key = hidden.Hides, hidden.Key
	}
	return r
}

// hide adds the paths that are masked from external agents to the rules of a base.
func (g *Guests) hide(r gitops.BaseRules) gitops.BaseRules {
	if g == nil {
		return r
	}
	hides := r.Hides
	r.Hides = func(name string) bool { return hides != nil && hides(name) || g.Masks(name) } //control:guest-settings-hidden
	r.Key += " without settings of agents"
	return r
}

// takeOn is [Bases.take] for a workspace on a layer. If a deletion in the base would
// hide a file of the layer, it takes a complete base instead of an overlay.
func (b *Bases) takeOn(
	ctx context.Context,
	repo *gitops.Mirror,
	want gitops.BaseWant,
	layer string,
) (*gitops.Base, error) {
	got, err := b.take(ctx, repo, want)
	if err != nil || got.Over == "" || layer == "" {
		return got, err
	}
	hides := false
	err = filepath.WalkDir(got.Over, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeCharDevice == 0 {
			return err
		}
		if _, err := os.Lstat(filepath.Join(layer, workspace.LayerTree, strings.TrimPrefix(name, got.Over))); err == nil {
			hides = true
			return fs.SkipAll
		}
		return nil
	})
	if err == nil && !hides {
		return got, nil
	}
	got.Drop()
	if err != nil {
		return nil, fmt.Errorf("look into the base: %w", err)
	}
	want.Layers = false
	return b.take(ctx, repo, want)
}

// take returns the visible files of a commit. The caller must call Drop on the result.
func (b *Bases) take(ctx context.Context, repo *gitops.Mirror, want gitops.BaseWant) (*gitops.Base, error) {
	got, err := b.store.Take(ctx, repo, want)
	if err != nil && ctx.Err() == nil && !errors.Is(err, workspace.ErrFull) && !errors.Is(err, gitops.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", errNoBase, err)
	}
	return got, err
}
