package base

import (
	"context"
	"errors"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// maxDiffers is the maximum number of files and directories in a layer; maxCandidates is the
// maximum number of candidates in the search for the nearest tree.
const (
	maxDiffers    = 2_000
	maxCandidates = 8
)

// errNoLayer means that a layer is not possible; a tree is made instead.
var errNoLayer = errors.New("no layer")

// layer makes a layer over the nearest tree with the same rules, and takes both. It
// reports false if no tree is near enough.
func (b *Base) layer(ctx context.Context, repo Repo, v view) (bool, error) {
	s := b.store
	key := "l-" + v.id()
	if ok, err := b.take(ctx, key); ok || err != nil { // another caller made it meanwhile
		return ok, err
	}
	near, best, err := s.nearest(ctx, repo, v)
	if err != nil || near == "" {
		return false, err
	}
	if ok, err := b.take(ctx, near); !ok || err != nil { // keep it locked meanwhile
		return false, err
	}
	m := &maker{s: s, repo: repo, gone: best.gone}
	err = m.make(ctx, &best.plan, key, about{On: near, Tree: v.Tree.String(), Key: v.key})
	if errors.Is(err, errNoLayer) {
		b.unlock()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	held := b.locks
	b.locks = nil
	ok, err := b.take(ctx, key)
	for _, f := range held {
		_ = flock.Release(f)
	}
	return ok, err
}

// nearest returns the tree with the fewest differences, and the differences.
func (s *Store) nearest(ctx context.Context, repo Repo, v view) (key string, best *differ, err error) {
	most, asked := maxDiffers, 0
	for _, name := range s.newest("bases", 1<<20) {
		a, err := s.about(name)
		if err != nil || !strings.HasPrefix(name, "t-") || strings.Contains(name, ".bad-") || asked == maxCandidates {
			continue
		}
		if a.Key != v.key { //control:rules-share-no-tree
			continue
		}
		asked++
		d := &differ{}
		err = s.read(ctx, repo, func(r reader) error {
			*d = differ{r: r, plan: plan{limit: most}}
			return d.trees(ctx, plumbing.NewHash(a.Tree), v.Tree, "")
		})
		if ctx.Err() != nil {
			return "", nil, context.Cause(ctx)
		}
		if n := len(d.dirs) + len(d.items) + len(d.gone); err == nil &&
			n <= most { // otherwise of another repository, or too far
			key, best, most = name, d, n
		}
	}
	return key, best, nil
}

// differ collects the differences between two trees.
type differ struct {
	plan
	r    reader
	gone []string
}

func (d *differ) trees(ctx context.Context, from, to plumbing.Hash, at string) error {
	if from == to {
		return nil
	}
	had, err := d.entries(from)
	if err != nil {
		return err
	}
	list, err := d.r.tree(to)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	below := len(d.dirs)
	if at != "" { // removed again below if nothing in it differs
		d.dirs = append(d.dirs, strings.TrimSuffix(at, "/"))
	}
	before := len(d.dirs) + len(d.items) + len(d.gone)
	for _, e := range list {
		old, ok := had[e.Name]
		delete(had, e.Name)
		if ok && old.Hash == e.Hash && old.Mode == e.Mode || d.r.refused(e.Name) {
			continue
		}
		if err := d.entry(ctx, old, e, at+e.Name); err != nil {
			return err
		}
	}
	for name := range had {
		if !d.r.refused(name) {
			d.gone = append(d.gone, at+name)
		}
	}
	if len(d.dirs)+len(d.items)+len(d.gone) > d.limit {
		return errNoLayer
	}
	if before == len(d.dirs)+len(d.items)+len(d.gone) {
		d.dirs = d.dirs[:below]
	}
	return nil
}

func (d *differ) entry(ctx context.Context, old, now objects.Entry, name string) error {
	switch {
	case now.IsDir() && old.IsDir():
		return d.trees(ctx, old.Hash, now.Hash, name+"/")
	case now.Mode == filemode.Submodule && old.Mode == filemode.Submodule:
		return nil // both are empty directories
	case now.Mode == filemode.Submodule && old.IsDir():
		d.dirs = append(d.dirs, name)
		had, err := d.entries(old.Hash)
		for below := range had {
			if !d.r.refused(below) {
				d.gone = append(d.gone, name+"/"+below)
			}
		}
		return err
	}
	return d.plan.entry(ctx, d.r, now, name)
}

func (d *differ) entries(h plumbing.Hash) (map[string]objects.Entry, error) {
	out := map[string]objects.Entry{}
	if h.IsZero() {
		return out, nil
	}
	list, err := d.r.tree(h)
	for _, e := range list {
		out[e.Name] = e
	}
	return out, err
}
