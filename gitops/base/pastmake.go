package base

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// Limits of a past: generations, unless the branch is longer; commits; bytes that
// ancestors add; contents that a partial mirror fetches for them; and packs before all of
// it is packed again.
const (
	pastDepth   = 50
	pastCommits = 1_000
	pastBytes   = 256 << 20
	pastFetched = 5_000
	pastPacks   = 8
)

// pastPrefix begins the keys of pasts.
const pastPrefix = "p-"

// errCut means that the past must end here to stay within its limits.
var errCut = errors.New("past is cut")

// historian builds a past.
type historian struct {
	s     *Store
	repo  Repo
	want  Want
	view  view
	head  plumbing.Hash
	fork  plumbing.Hash
	steps []*object.Commit // HEAD first
	alone bool             // only the files of HEAD, because the rules hide something
}

// find resolves the commits of a past, and returns its key.
func (h *historian) find(ctx context.Context, p Past) (key string, err error) {
	if h.view, err = h.s.view(ctx, h.repo, p.Want); err != nil {
		return "", err
	}
	id, err := h.repo.Resolve(ctx, p.Commit)
	if err != nil {
		return "", err
	}
	h.head = plumbing.NewHash(id)
	main := ""
	if p.MainAt != "" {
		if main, err = h.repo.Resolve(ctx, p.MainAt); err != nil {
			return "", err
		}
	}
	var ends []plumbing.Hash
	err = h.repo.Objects().Use(ctx, func(o *objects.DB) (err error) {
		if main != "" {
			h.fork, err = o.Fork(ctx, h.head, plumbing.NewHash(main))
		}
		if err == nil {
			ends, err = o.Shallow()
		}
		return err
	})
	facts := []any{h.head, h.fork, h.view.id()}
	if len(ends) > 0 { //control:past-of-a-shallow-clone
		facts = append(facts, fmt.Sprint(ends)) // a full clone has more of the same history
	}
	return pastPrefix + digest(facts...), err
}

// make writes the past that [historian.find] resolved.
func (h *historian) make(ctx context.Context, key string) error {
	err := h.repo.Objects().Use(ctx, func(o *objects.DB) (err error) {
		h.steps, err = reach(ctx, o, h.head, h.fork)
		return err
	})
	if err == nil {
		err = h.hide(ctx)
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
	err = errors.Join(
		os.Chmod(temp, 0o755),
		os.MkdirAll(filepath.Join(tree, "objects/pack"), 0o755),
		os.Mkdir(filepath.Join(tree, "files"), 0o755),
	)
	if err != nil {
		return err
	}
	near := objects.NewPool(tree)
	defer near.Renew() // closes its files
	if !h.alone {
		lock, err := h.near(ctx, tree)
		if lock != nil {
			defer func() { _ = flock.Release(lock) }()
		}
		if err != nil {
			return err
		}
	}
	var a pastAbout
	err = h.s.read(ctx, h.repo, func(r reader) error {
		return near.Do(ctx, func(had *objects.DB) error {
			a, err = h.pack(ctx, r, had, &objects.Packs{Dir: tree, Pool: near})
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
	files, globErr := filepath.Glob(filepath.Join(tree, "objects/pack/*"))
	err = errors.Join(err, globErr)
	names := []string{".", "files", "files/index", "objects", "objects/pack"}
	for _, name := range files {
		names = append(names, "objects/pack/"+filepath.Base(name))
	}
	var list []stamp
	var size int64
	for _, name := range names {
		st, stampErr := stampOf(filepath.Join(tree, name), name)
		list, err, size = append(list, st), errors.Join(err, stampErr), size+st.size
	}
	err = errors.Join(err, writeStamps(filepath.Join(temp, "list"), list), writeStamps(filepath.Join(temp, "dirs"), list))
	if err != nil {
		return err
	}
	return h.s.finish(temp, key, about{Tree: h.view.Tree.String(), Key: h.view.key, Files: len(list), Bytes: size})
}

// hide leaves only the files of HEAD if the rules hide anything in one of the commits: a
// content that one commit hides may be at another path in the others. The past ends at a
// commit that is unreadable or exceeds a limit.
func (h *historian) hide(ctx context.Context) error {
	if h.view.key == "" {
		return nil
	}
	h.alone = h.view.Tree != h.steps[0].TreeHash
	for i, c := range h.steps[1:] {
		w := h.want
		w.Commit = c.Hash.String()
		v, err := h.s.view(ctx, h.repo, w)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			h.steps = h.steps[:i+1]
			break
		}
		h.alone = h.alone || len(v.Gone) > 0 //control:past-hides-contents
	}
	if h.alone {
		h.steps = h.steps[:1]
	}
	return nil
}

// near links the packs of an existing past of one of the commits, and locks that. All of
// their objects belong to this past, too, because they are older.
func (h *historian) near(ctx context.Context, tree string) (*os.File, error) {
	known := map[string]bool{}
	for _, c := range h.steps {
		known[c.Hash.String()] = true
	}
	asked := 0
	for _, key := range h.s.newest("bases", 1<<20) {
		if !strings.HasPrefix(key, pastPrefix) || strings.Contains(key, ".bad-") || asked == maxCandidates {
			continue
		}
		about, err := h.s.about(key)
		if err != nil || about.Key != h.view.key {
			continue
		}
		asked++
		a, err := readPast(h.s, key)
		if err != nil || a.Alone || a.Packs >= pastPacks || !known[a.Commit] { //control:past-of-others
			continue
		}
		lock, _, err := h.s.takePast(ctx, key)
		if err == nil && lock != nil {
			err = copyTree(h.s.at("bases/"+key+"/tree/objects"), filepath.Join(tree, "objects"), true)
		}
		if err != nil || lock != nil {
			return lock, err
		}
	}
	return nil, nil
}

// pack writes the objects that had lacks.
func (h *historian) pack(
	ctx context.Context,
	r reader,
	had *objects.DB,
	packs *objects.Packs,
) (a pastAbout, err error) {
	c := &collector{r: r, left: pastBytes, Collector: objects.Collector{Tree: r.tree, Has: had.Has}}
	if _, err := r.own.Root(plumbing.ZeroHash); err != nil { // git has the empty tree without an object
		return a, err
	}
	a = pastAbout{Commit: h.head.String(), Alone: h.alone}
	steps := h.steps
	if h.alone {
		steps, err = h.onlyHead(r.own)
	}
	if err == nil {
		steps, err = c.gather(ctx, steps)
	}
	if err != nil {
		return a, err
	}
	a.Head = steps[0].Hash.String()
	if h.fork == h.head {
		a.Fork = a.Head
	}
	shown := map[plumbing.Hash]bool{}
	for _, st := range steps {
		shown[st.Hash] = true
		c.Add(plumbing.CommitObject, st.Hash)
		if st.Hash == h.fork {
			a.Fork = st.Hash.String()
		}
	}
	for _, st := range steps {
		if slices.ContainsFunc(st.ParentHashes, func(p plumbing.Hash) bool { return !shown[p] }) {
			a.Shallow = append(a.Shallow, st.Hash.String())
		}
	}
	files, err := listFiles(ctx, r, h.view.Tree)
	if err == nil {
		err = writeFiles(filepath.Join(packs.Dir, "files/index"), files)
	}
	if err == nil {
		err = packs.Pack(ctx, c.List, c.open)
	}
	if err != nil {
		return a, err
	}
	list, err := filepath.Glob(filepath.Join(packs.Dir, "objects/pack/*.pack"))
	a.Packs = len(list)
	return a, err
}

// onlyHead returns a commit of the shown files without parents, in place of HEAD. It has no
// signature, which would be invalid.
func (h *historian) onlyHead(own *objects.DB) ([]*object.Commit, error) {
	tree, err := own.Root(h.view.Tree)
	if err != nil {
		return nil, err
	}
	from := h.steps[0]
	c := object.Commit{
		Author:    from.Author,
		Committer: from.Committer,
		Message:   from.Message,
		Encoding:  from.Encoding,
		TreeHash:  tree,
	}
	c.Hash, err = own.WriteCommit(c)
	return []*object.Commit{&c}, err
}

// collector collects the objects of a pack.
type collector struct {
	objects.Collector
	r       reader
	left    int64 // bytes of further contents of ancestors
	fetched int   // contents to fetch for ancestors
}

// gather adds the files of the commits within the limits, and returns these commits. A
// partial mirror fetches their contents in one request.
func (c *collector) gather(ctx context.Context, steps []*object.Commit) ([]*object.Commit, error) {
	for i, st := range steps {
		from := len(c.List)
		err := c.Walk(ctx, st.TreeHash)
		if err == nil && i > 0 { // only ancestors count for the limits
			err = c.count(objects.Contents(c.List[from:]))
		}
		if i > 0 &&
			(errors.Is(err, errCut) || errors.Is(err, objects.ErrTooLarge) || errors.Is(err, plumbing.ErrObjectNotFound)) {
			steps, c.List = steps[:i], c.List[:from]
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return steps, c.r.repo.Prefetch(objects.Contents(c.List))
}

// count counts contents of an ancestor.
func (c *collector) count(ids []plumbing.Hash) error {
	for _, id := range ids {
		if c.r.repo.Partial() && !c.r.repo.Has(id) {
			if c.fetched++; c.fetched > pastFetched {
				return errCut
			}
			continue
		}
		size, err := c.r.repo.EncodedObjectSize(id)
		if err != nil {
			return err
		}
		if c.left -= size; c.left < 0 {
			return errCut
		}
	}
	return nil
}

// open opens an object of the repository or, for a view, of the store.
func (c *collector) open(x objects.Packed) (io.ReadCloser, int64, error) {
	r, size, err := c.r.repo.Open(x.Kind, x.Hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) && x.Kind != plumbing.BlobObject {
		if r, size, ownErr := c.r.own.Open(x.Kind, x.Hash); ownErr == nil {
			return r, size, nil
		}
	}
	return r, size, err
}

// listFiles lists the files for the git index in the workspace.
func listFiles(ctx context.Context, r reader, root plumbing.Hash) (list []*index.Entry, err error) {
	var walk func(h plumbing.Hash, at string) error
	walk = func(h plumbing.Hash, at string) error {
		entries, err := r.tree(h)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		for _, e := range entries {
			switch {
			case r.refused(e.Name):
			case e.IsDir():
				err = walk(e.Hash, at+e.Name+"/")
			default:
				if e.Mode == filemode.Deprecated {
					e.Mode = filemode.Regular
				}
				list = append(list, &index.Entry{Name: at + e.Name, Mode: e.Mode, Hash: e.Hash})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if !root.IsZero() {
		err = walk(root, "")
	}
	return list, err
}

func writeFiles(name string, list []*index.Entry) error {
	var out bytes.Buffer
	if err := index.NewEncoder(&out).Encode(&index.Index{Version: 2, Entries: list}); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}

func readPast(s *Store, key string) (a pastAbout, err error) {
	data, err := os.ReadFile(s.at("bases/" + key + "/past"))
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}
