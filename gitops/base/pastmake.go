package base

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// Limits of a past: generations, unless the branch is longer; commits; bytes that
// ancestors add; and packs before all of it is packed again.
const (
	pastDepth   = 50
	pastCommits = 1_000
	pastBytes   = 256 << 20
	pastPacks   = 8
	pastBrought = 5_000 // contents that a partial mirror fetches for ancestors
)

// step is a commit of a past.
type step struct {
	id, tree plumbing.Hash // tree is first the original, then the filtered one
	parents  []plumbing.Hash
	raw      []byte
}

func readStep(o *objects.DB, h plumbing.Hash) (step, error) {
	raw, err := o.Raw(h)
	if err != nil {
		return step{}, err
	}
	c, err := object.GetCommit(o, h)
	if err != nil {
		return step{}, err
	}
	return step{id: h, tree: c.TreeHash, parents: c.ParentHashes, raw: raw}, nil
}

// historian builds a past.
type historian struct {
	s     *Store
	repo  Repo
	want  Want
	view  view
	key   string // of the rules; pasts with different keys share nothing
	head  plumbing.Hash
	fork  plumbing.Hash
	steps []step // HEAD first
}

// find resolves the commits of a past, and returns its key.
func (h *historian) find(ctx context.Context, p Past) (key string, err error) {
	if h.view, err = h.s.view(ctx, h.repo, p.Want); err != nil {
		return "", err
	}
	h.key = h.view.key
	id, err := h.repo.Resolve(ctx, p.Commit)
	if err != nil {
		return "", err
	}
	h.head = plumbing.NewHash(id)
	if p.MainAt != "" {
		main, err := h.repo.Resolve(ctx, p.MainAt)
		if err == nil {
			err = h.repo.Objects().Use(ctx, func(o *objects.DB) error {
				h.fork, err = o.Fork(ctx, h.head, plumbing.NewHash(main))
				return err
			})
		}
		if err != nil {
			return "", err
		}
	}
	facts := []any{h.head, h.fork, h.view.id()}
	err = h.repo.Objects().Use(ctx, func(o *objects.DB) error {
		ends, err := o.Shallow()
		if len(ends) > 0 { //control:past-of-a-shallow-clone
			facts = append(facts[:3], fmt.Sprint(ends)) // a full clone has more of the same history
		}
		return err
	})
	return "g-" + digest(facts...), err
}

// make writes the past that [historian.find] resolved.
func (h *historian) make(ctx context.Context, key string) (err error) {
	err = h.repo.Objects().Use(ctx, func(o *objects.DB) error {
		h.steps, err = reach(ctx, o, h.head, h.fork)
		return err
	})
	if err == nil {
		err = h.show(ctx)
	}
	if err != nil {
		return err
	}
	temp, err := h.s.Temp(h.s.at("making"), "making")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // fails after a successful rename
	tree := filepath.Join(temp, "tree")
	packs := filepath.Join(tree, "objects/pack")
	if err := errors.Join(os.Chmod(temp, 0o755), os.MkdirAll(packs, 0o755), os.Mkdir(filepath.Join(tree, "files"), 0o755)); err != nil {
		return err
	}
	near, unlock := h.near(ctx, packs)
	defer unlock()
	defer near.Renew() // closes its files
	var a pastAbout
	err = h.s.read(ctx, h.repo, func(r reader) error {
		return near.Do(ctx, func(had *objects.DB) error {
			a, err = h.pack(ctx, r, had, tree)
			return err
		})
	})
	if err != nil {
		return err
	}
	return h.finish(temp, key, a)
}

func (h *historian) finish(temp, key string, a pastAbout) error {
	tree := filepath.Join(temp, "tree")
	data, err := json.Marshal(a)
	if err == nil {
		err = os.WriteFile(filepath.Join(temp, "past"), data, 0o644)
	}
	var list []stamp
	var size int64
	for _, name := range []string{".", "files", "files/index", "objects", "objects/pack"} {
		st, stampErr := stampOf(filepath.Join(tree, name), name)
		list, err = append(list, st), errors.Join(err, stampErr)
	}
	files, globErr := filepath.Glob(filepath.Join(tree, "objects/pack/*"))
	for _, name := range files {
		st, stampErr := stampOf(name, "objects/pack/"+filepath.Base(name))
		list, err, size = append(list, st), errors.Join(err, stampErr), size+st.size
	}
	err = errors.Join(err, globErr, writeStamps(filepath.Join(temp, "list"), list), writeStamps(filepath.Join(temp, "dirs"), list))
	if err != nil {
		return err
	}
	return h.s.finish(temp, key, about{Tree: h.view.Tree.String(), Key: h.key, Files: len(list), Bytes: size})
}

// show filters the trees of the commits. The past ends at a commit that is unreadable or
// exceeds a limit.
//
// A content that is hidden in one commit is hidden in all others: the file may have been
// moved before it was hidden.
func (h *historian) show(ctx context.Context) error {
	secret, show := contents{}, h.want.Rules
	hidden := show
	hidden.Outside, hidden.OutsideKey = nil, "" // what nobody needs is no secret
	err := h.each(ctx, hidden, nil, func(st *step, v view) error {
		err := h.collect(ctx, st.tree, v.Gone, secret)
		st.tree = v.Tree
		return err
	})
	if err == nil && len(secret) > 0 {
		err = h.s.read(ctx, h.repo, func(r reader) error { // but contents that the base itself shows are no secret
			return r.blobs(ctx, h.view.Tree, func(id plumbing.Hash) { delete(secret, id) })
		})
	}
	if err != nil || len(secret) == 0 && show.Outside == nil {
		return err
	}
	h.key += secret.key()
	return h.each(ctx, show, secret, func(st *step, v view) error {
		st.tree = v.Tree
		return nil
	})
}

// each calls f with the view of each commit under rules.
func (h *historian) each(ctx context.Context, rules Rules, without contents, f func(st *step, v view) error) error {
	for i := range h.steps {
		w := h.want
		w.Commit, w.Rules = h.steps[i].id.String(), rules
		v, err := h.s.viewWithout(ctx, h.repo, w, without) //control:past-hides-contents
		if err == nil {
			err = f(&h.steps[i], v)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && i > 0 {
			h.steps = h.steps[:i]
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// collect adds the contents of the hidden paths of a tree to into.
func (h *historian) collect(ctx context.Context, tree plumbing.Hash, gone []string, into contents) error {
	return h.s.read(ctx, h.repo, func(r reader) error {
		for _, name := range gone {
			e, err := r.repo.Find(tree, strings.TrimSuffix(name, "/"))
			if errors.Is(err, objects.ErrNotFound) { // only the rules of another commit add it
				continue
			}
			if err == nil && e.IsDir() {
				err = r.blobs(ctx, e.Hash, func(id plumbing.Hash) { into[id] = true })
			} else if err == nil && e.Mode != filemode.Submodule {
				into[e.Hash] = true
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// blobs calls f for each blob in a tree, recursively.
func (r reader) blobs(ctx context.Context, tree plumbing.Hash, f func(plumbing.Hash)) error {
	if tree.IsZero() {
		return nil
	}
	list, err := r.tree(tree)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	for _, e := range list {
		if e.IsDir() {
			err = r.blobs(ctx, e.Hash, f)
		} else if e.Mode != filemode.Submodule {
			f(e.Hash)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// near links the packs of an existing past of one of the commits. All of their objects
// belong to this past, too, because they are older.
func (h *historian) near(ctx context.Context, packs string) (pool *objects.Pool, unlock func()) {
	pool, unlock = objects.NewPool(filepath.Dir(filepath.Dir(packs))), func() {}
	known := map[string]bool{}
	for _, st := range h.steps {
		known[st.id.String()] = true
	}
	asked := 0
	for _, key := range h.s.newest("bases", 1<<20) {
		if !strings.HasPrefix(key, "g-") || strings.Contains(key, ".bad-") || asked == maxCandidates {
			continue
		}
		about, err := h.s.about(key)
		if err != nil || about.Key != h.key {
			continue
		}
		asked++
		a, err := readPast(h.s, key)
		if err != nil || a.Packs >= pastPacks || !known[a.Commit] { //control:past-of-others
			continue
		}
		lock, _, err := h.s.takePast(ctx, key)
		if err != nil || lock == nil {
			continue
		}
		err = copyTree(h.s.at("bases/"+key+"/tree/objects"), filepath.Dir(packs), true)
		if err == nil {
			return pool, func() { _ = flock.Release(lock) }
		}
		_ = flock.Release(lock)
		if list, err := filepath.Glob(filepath.Join(packs, "*")); err == nil {
			for _, name := range list {
				_ = os.Remove(name) // make everything from scratch
			}
		}
		return pool, unlock
	}
	return pool, unlock
}

// pack writes the objects that had lacks.
func (h *historian) pack(ctx context.Context, r reader, had *objects.DB, tree string) (a pastAbout, err error) {
	c := &collector{r: r, had: had, seen: map[plumbing.Hash]bool{}, made: map[plumbing.Hash][]byte{}}
	a = pastAbout{Commit: h.head.String(), Commits: map[string]string{}}
	if !h.fork.IsZero() {
		a.Fork = h.fork.String()
	}
	steps, err := c.prefetch(ctx, h.steps)
	if err != nil {
		return a, err
	}
	for i, st := range steps {
		err := c.tree(ctx, st.tree)
		if i > 0 && (errors.Is(err, errCut) || errors.Is(err, plumbing.ErrObjectNotFound)) {
			steps = steps[:i]
			break
		}
		if err != nil {
			return a, err
		}
		if i == 0 { // only ancestors count for the limit
			c.bounded, c.left = true, pastBytes
		}
	}
	c.commits(steps, &a)
	files, err := c.files(ctx, h.view.Tree)
	if err == nil {
		err = writeFiles(filepath.Join(tree, "files/index"), files)
	}
	packs := filepath.Join(tree, "objects/pack")
	if err == nil && len(c.list) > 0 {
		err = objects.WriteIndexed(ctx, packs, c.list, c.open)
	}
	if err != nil {
		return a, err
	}
	list, err := filepath.Glob(filepath.Join(packs, "*.pack"))
	a.Packs = len(list)
	return a, err
}

func readPast(s *Store, key string) (a pastAbout, err error) {
	data, err := os.ReadFile(s.at("bases/" + key + "/past"))
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}
