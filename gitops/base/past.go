package base

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// Past says what git shows inside of a workspace, and where that is put.
type Past struct {
	Want          // the commit that HEAD is at, and what is hidden in all commits
	Branch string // that HEAD is on
	Main   string // the branch that the work goes to; "" for none
	MainAt string // a commit of Main. The past shows where the two parted, and nothing after it

	Files   string // an empty directory, for the small files of a repository
	Objects string // likewise, for its objects
	// Share means that the objects may be links to what others read too: nothing that
	// runs in a workspace can write there.
	Share bool
}

// WritePast writes what a repository of a workspace is made of: its small files, and the
// objects of the commit and of those before it, without what is hidden and without all
// other branches.
func (s *Store) WritePast(ctx context.Context, repo Repo, p Past) error {
	if err := s.writePast(ctx, repo, p); err != nil {
		return fmt.Errorf("write past: %w", err)
	}
	return nil
}

func (s *Store) writePast(ctx context.Context, repo Repo, p Past) error {
	if p.Commit == "" {
		return p.files(pastAbout{})
	}
	h := &historian{s: s, repo: repo, want: p.Want}
	key, err := h.find(ctx, p)
	if err != nil {
		return err
	}
	for range 3 {
		lock, a, err := s.takePast(ctx, key)
		if err != nil {
			return err
		}
		if lock != nil {
			at := s.at("bases/" + key + "/tree")
			return errors.Join(give(at+"/objects", p.Objects, p.Share), give(at+"/files", p.Files, false), flock.Release(lock), p.files(a))
		}
		building, err := s.lock(ctx, key+".build", true)
		if err != nil {
			return err
		}
		if _, err = os.Stat(s.at("bases/" + key)); err != nil { // else another was faster
			err = h.make(ctx, key)
		}
		if err := errors.Join(err, flock.Release(building)); err != nil {
			return err
		}
	}
	return errDamaged
}

// takePast locks what is there. The lock is nil for what is missing or damaged.
func (s *Store) takePast(ctx context.Context, key string) (*os.File, pastAbout, error) {
	var a pastAbout
	if _, err := os.Stat(s.at("bases/" + key)); err != nil {
		return nil, a, nil //nolint:nilerr // it is not there
	}
	lock, err := s.lock(ctx, key, false)
	if err != nil {
		return nil, a, err
	}
	_, err = s.check(ctx, key)
	if err == nil {
		a, err = readPast(s, key)
	}
	if ctx.Err() != nil {
		return nil, a, errors.Join(context.Cause(ctx), flock.Release(lock))
	}
	if err != nil {
		s.discard(key)
		return nil, a, flock.Release(lock)
	}
	used(lock)
	return lock, a, nil
}

// give puts what is in one directory into another.
func give(from, dir string, share bool) error {
	link := share //control:past-is-not-shared
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(name, from))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		if link && os.Link(name, to) == nil {
			return nil
		}
		return copyFile(name, to) // another file system, or one that can be written to inside
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// pastAbout is what a past says of itself.
type pastAbout struct {
	Commit  string            // as it is in the repository
	Fork    string            // likewise; "" for none
	Commits map[string]string // ids here by ids there
	Shallow []string          // commits, as here, whose parents are not shown
	Packs   int
}

// files writes the small files of a repository.
func (p Past) files(a pastAbout) error {
	refs := "# pack-refs with: peeled fully-peeled sorted \n"
	heads := map[string]string{}
	if id := a.Commits[a.Commit]; id != "" {
		heads["refs/heads/"+p.Branch] = id
	}
	if id := a.Commits[a.Fork]; id != "" && p.Main != "" {
		heads["refs/remotes/origin/"+p.Main] = id
		if p.Main != p.Branch && !strings.HasPrefix(p.Branch, p.Main+"/") && !strings.HasPrefix(p.Main, p.Branch+"/") {
			heads["refs/heads/"+p.Main] = id
		}
	}
	for _, name := range slices.Sorted(maps.Keys(heads)) {
		refs += heads[name] + " " + name + "\n"
	}
	files := map[string]string{
		"HEAD":        "ref: refs/heads/" + p.Branch + "\n",
		"packed-refs": refs,
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\ttrustctime = false\n" +
			"[user]\n\tname = agent\n\temail = agent@localhost\n[gc]\n\tauto = 0\n",
	}
	if len(a.Shallow) > 0 {
		files["shallow"] = strings.Join(a.Shallow, "\n") + "\n"
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(p.Files, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// errCut means that the past ends here, since more would be too much.
var errCut = errors.New("past is cut")

// reach finds the commits that a past shows: level by level, until there are enough and
// the one is among them at which the work parted from its branch.
func reach(ctx context.Context, o *objects.DB, head, fork plumbing.Hash) (list []step, err error) {
	known, found := map[plumbing.Hash]bool{head: true}, fork.IsZero()
	level := []plumbing.Hash{head}
	for depth := 0; len(level) > 0 && len(list)+len(level) <= pastCommits && (depth < pastDepth || !found); depth++ {
		var next []plumbing.Hash
		for _, h := range level {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			c, err := readStep(o, h)
			if err != nil && len(list) > 0 {
				continue // the clone ends here
			}
			if err != nil {
				return nil, err
			}
			list, found = append(list, c), found || h == fork
			for _, p := range c.parents {
				if !known[p] {
					known[p], next = true, append(next, p)
				}
			}
		}
		level = next
	}
	if !found { // shown for itself
		c, err := readStep(o, fork)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	// What does not fit is left out at the end.
	if i := slices.IndexFunc(list, func(st step) bool { return st.id == fork }); i > 1 {
		at := list[i]
		list = slices.Insert(slices.Delete(list, i, i+1), 1, at)
	}
	return list, nil
}
