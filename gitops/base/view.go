package base

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// view is a tree with its path filters applied.
type view struct {
	Tree plumbing.Hash
	Gone []string

	key string // of the rules; empty if there are none
}

func (v view) id() string {
	if v.key == "" {
		return v.Tree.String()
	}
	return v.Tree.String() + "-" + v.key
}

// reader reads the trees of a repository, and the filtered ones.
type reader struct {
	repo, own *objects.DB
	refused   func(name string) bool
	left      *int // entries that may still be read: shared subtrees can multiply without end
}

func (r reader) tree(h plumbing.Hash) ([]objects.Entry, error) {
	list, err := r.repo.Tree(h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		if ours, ownErr := r.own.Tree(h); ownErr == nil {
			list, err = ours, nil
		}
	}
	if *r.left -= len(list) + 1; *r.left < 0 { //control:bounded-trees
		return nil, fmt.Errorf("%w: there are too many files and directories", objects.ErrTooLarge)
	}
	return list, err
}

func (s *Store) read(ctx context.Context, repo Repo, fn func(r reader) error) error {
	return repo.Objects().Use(ctx, func(o *objects.DB) error {
		left := 4 * s.cfg.MaxFiles // a caller reads several trees
		return s.own.Do(ctx, func(own *objects.DB) error { return fn(reader{o, own, s.cfg.Refused, &left}) })
	})
}

// Find returns the files of a commit with this name, in any directory. It reuses the
// results for other commits.
func (s *Store) Find(ctx context.Context, repo Repo, commit, name string) (paths []string, err error) {
	entries, err := s.find(ctx, repo, commit, name)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", name, err)
	}
	return slices.Sorted(maps.Keys(entries)), nil
}

// pathsByName has the files of one name in a tree, by path.
type pathsByName map[string]plumbing.Hash

func (s *Store) find(ctx context.Context, repo Repo, commit, name string) (found pathsByName, err error) {
	id, err := repo.Resolve(ctx, commit)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, repo, func(r reader) error {
		tree, err := r.repo.TreeOf(id)
		if err != nil {
			return err
		}
		var known struct{ Found pathsByName }
		place := "names/" + digest(name)
		if s.recall(place, tree, &known) {
			found = known.Found
			return nil
		}
		f := &finder{r: r, name: name, found: pathsByName{}}
		old := s.older(r, place)
		if s.recall(place, old, &known) {
			f.known = known.Found
		}
		if err := f.dir(ctx, tree, old, ""); err != nil {
			return err
		}
		found, known.Found = f.found, f.found
		s.remember(place, tree, known)
		return nil
	})
	return found, err
}

// finder finds files by name in the differences from a tree with known results.
type finder struct {
	r            reader
	name         string
	known, found pathsByName
}

func (f *finder) dir(ctx context.Context, now, old plumbing.Hash, at string) error {
	if now == old {
		for p, h := range f.known {
			if strings.HasPrefix(p, at) {
				f.found[p] = h
			}
		}
		return nil
	}
	list, err := f.r.tree(now)
	if err != nil {
		return err
	}
	olds, err := f.r.dirs(old)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	for _, e := range list {
		if e.IsDir() {
			err = f.dir(ctx, e.Hash, olds[e.Name], at+e.Name+"/")
		} else if e.Name == f.name && e.Mode != filemode.Submodule {
			f.found[at+e.Name] = e.Hash
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dirs returns the subtrees of a tree.
func (r reader) dirs(h plumbing.Hash) (map[string]plumbing.Hash, error) {
	out := map[string]plumbing.Hash{}
	if h.IsZero() {
		return out, nil
	}
	list, err := r.tree(h)
	for _, e := range list {
		if e.IsDir() {
			out[e.Name] = e.Hash
		}
	}
	return out, err
}

// view returns the filtered tree of a commit.
func (s *Store) view(ctx context.Context, repo Repo, w Want) (v view, err error) {
	if w.Commit == "" {
		return v, nil
	}
	id, err := repo.Resolve(ctx, w.Commit)
	if err != nil {
		return v, err
	}
	sh := shaper{rules: w.Rules}
	if w.Rules.From != "" {
		if sh.theirs, err = s.find(ctx, repo, w.Rules.From, w.Rules.Name); err != nil {
			return v, err
		}
	}
	if sh.rules.Hides != nil || w.Rules.From != "" {
		v.key = digest(w.Rules.Key, w.Rules.Name, w.Rules.From != "", sh.theirs)
	}
	if sh.rules.Outside != nil {
		v.key = digest(v.key, "outside", w.Rules.OutsideKey)
	}
	err = s.read(ctx, repo, func(r reader) error {
		tree, err := r.repo.TreeOf(id)
		if err != nil {
			return err
		}
		place := "views/" + v.key
		switch {
		case v.key == "":
			v.Tree = tree
			return nil
		case s.recall(place, tree, &v) && (v.Tree.IsZero() || r.own.Has(v.Tree) || r.repo.Has(v.Tree)):
			return nil
		}
		sh := shaper{rules: sh.rules, theirs: sh.theirs, r: r}
		var old view
		from := s.older(r, place)
		if s.recall(place, from, &old) {
			sh.known = old.Gone
		} else {
			from = plumbing.ZeroHash
		}
		if v.Tree, err = sh.dir(ctx, pair{tree, from, old.Tree}, ""); err != nil {
			return err
		}
		v.Gone = sh.gone
		s.remember(place, tree, v)
		return nil
	})
	return v, err
}

// shaper builds the view of a tree. It reuses the views of subtrees that are unchanged
// from another tree.
type shaper struct {
	r      reader
	rules  Rules
	theirs pathsByName // files with rules that replace the tree's own
	known  []string
	gone   []string
}

// pair is a tree, and an older tree at the same path with its view.
type pair struct{ now, old, view plumbing.Hash }

func (s *shaper) dir(ctx context.Context, p pair, at string) (plumbing.Hash, error) {
	if p.now == p.old {
		for _, name := range s.known {
			if strings.HasPrefix(name, at) {
				s.gone = append(s.gone, name)
			}
		}
		return p.view, nil
	}
	list, err := s.r.tree(p.now)
	if err != nil {
		return p.now, err
	}
	olds, err := s.r.dirs(p.old)
	if err != nil {
		return p.now, err
	}
	views, err := s.r.dirs(p.view)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return p.now, err
	}
	out := make([]objects.Entry, 0, len(list)+1)
	for _, e := range list {
		shown := at + e.Name
		if e.IsDir() || e.Mode == filemode.Submodule {
			shown += "/"
		}
		if s.rules.From != "" && e.Name == s.rules.Name {
			continue
		}
		if s.hides(shown) { //control:hidden-is-not-there
			s.gone = append(s.gone, shown)
			continue
		}
		if e.IsDir() {
			if e.Hash, err = s.dir(ctx, pair{e.Hash, olds[e.Name], views[e.Name]}, shown); err != nil {
				return p.now, err
			}
		}
		if !e.Hash.IsZero() { // skip trees without visible entries
			out = append(out, e)
		}
	}
	name := path.Join(at, s.rules.Name)
	if h, ok := s.theirs[name]; ok && !s.hides(name) { //control:fork-ignore
		out = append(out, objects.Entry{Name: s.rules.Name, Mode: filemode.Regular, Hash: h})
	}
	if slices.Equal(out, list) {
		return p.now, nil
	}
	return s.r.own.WriteTree(out)
}

func (s *shaper) hides(name string) bool {
	r := s.rules
	return r.Hides != nil && r.Hides(name) || r.Outside != nil && r.Outside(name)
}

// remember caches a fact about a tree.
func (s *Store) remember(place string, tree plumbing.Hash, what any) {
	dir := s.at(place)
	data, err := json.Marshal(what)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return
	}
	temp := s.at("making/known-" + random())
	if os.WriteFile(temp, data, 0o644) == nil {
		_ = os.Rename(temp, path.Join(dir, tree.String())) // if this fails, the fact is computed again
	}
}

func (s *Store) recall(place string, tree plumbing.Hash, into any) bool {
	data, err := os.ReadFile(path.Join(s.at(place), tree.String()))
	return err == nil && json.Unmarshal(data, into) == nil
}

// older returns the newest cached tree that the repository has.
func (s *Store) older(r reader, place string) plumbing.Hash {
	for _, name := range s.newest(place, 4) {
		if h := plumbing.NewHash(name); r.repo.Has(h) {
			return h
		}
	}
	return plumbing.ZeroHash
}

// newest returns a limited number of the names in a directory, the newest first.
func (s *Store) newest(place string, most int) []string {
	list, _ := os.ReadDir(s.at(place)) // an unreadable directory counts as empty
	at := map[string]int64{}
	for _, e := range list {
		if info, err := e.Info(); err == nil {
			at[e.Name()] = info.ModTime().UnixNano()
		}
	}
	names := slices.SortedFunc(maps.Keys(at), func(a, b string) int { return int(min(1, max(-1, at[b]-at[a]))) })
	return names[:min(len(names), most)]
}

// digest returns a short hash of values.
func digest(of ...any) string {
	sum := sha256.New()
	for _, v := range of {
		fmt.Fprintf(sum, "%q\n", fmt.Sprint(v)) // Sprint sorts the keys of maps
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:10])
}
