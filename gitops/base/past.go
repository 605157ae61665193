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
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// Past describes the git history inside of a workspace, and its location.
type Past struct {
	Want          // HEAD's commit, and the rules for all commits
	Branch string // HEAD's branch
	Main   string // the target branch of the work; empty if there is none
	MainAt string // a commit of Main; the past shows Main up to the fork point only

	Files   string // an empty directory for the small files of a repository
	Objects string // an empty directory for its objects
	// Share allows hard links to shared objects: processes in the workspace cannot write to
	// them.
	Share bool
}

// WritePast writes the repository of a workspace: its small files, and the objects of the
// commit and its ancestors, but of no other branch. If the rules hide anything in one of
// these commits, the history is one commit with the visible files.
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
			return errors.Join(
				copyTree(at+"/objects", p.Objects, p.Share),
				copyTree(at+"/files", p.Files, false),
				flock.Release(lock),
				p.files(a),
			)
		}
		building, err := s.lock(ctx, key+".build", true)
		if err != nil {
			return err
		}
		if _, err = os.Stat(s.at("bases/" + key)); err != nil { // otherwise another caller made it meanwhile
			err = h.make(ctx, key)
		}
		if err := errors.Join(err, flock.Release(building)); err != nil {
			return err
		}
	}
	return errDamaged
}

// takePast locks an existing past. The lock is nil if the past is missing or damaged.
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
	markUsed(lock)
	return lock, a, nil
}

// copyTree copies the files of one directory into another, or links them if share.
func copyTree(from, dir string, share bool) error {
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
		return copyFile(name, to) // not shared, or on another file system
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

// pastAbout is the description of a past.
type pastAbout struct {
	Commit  string   // id in the repository
	Head    string   // id in the past: another one if Alone
	Fork    string   // id in the past; empty if there is none
	Shallow []string // ids of commits with missing parents
	Packs   int
	Alone   bool // it has only one commit
}

// files writes the small files of a repository.
func (p Past) files(a pastAbout) error {
	refs := "# pack-refs with: peeled fully-peeled sorted \n"
	heads := map[string]string{}
	if a.Head != "" {
		heads["refs/heads/"+p.Branch] = a.Head
	}
	if a.Fork != "" && p.Main != "" {
		heads["refs/remotes/origin/"+p.Main] = a.Fork
		if p.Main != p.Branch && !strings.HasPrefix(p.Branch, p.Main+"/") && !strings.HasPrefix(p.Main, p.Branch+"/") {
			heads["refs/heads/"+p.Main] = a.Fork
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

// reach returns the commits of a past. It adds generations until there are enough and the
// fork point is among them.
func reach(ctx context.Context, o *objects.DB, head, fork plumbing.Hash) (list []*object.Commit, err error) {
	known, found := map[plumbing.Hash]bool{head: true}, fork.IsZero()
	level := []plumbing.Hash{head}
	for depth := 0; len(level) > 0 && len(list)+len(level) <= pastCommits && (depth < pastDepth || !found); depth++ {
		var next []plumbing.Hash
		for _, h := range level {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			c, err := object.GetCommit(o, h)
			if err != nil && len(list) > 0 {
				continue // the end of a shallow clone
			}
			if err != nil {
				return nil, err
			}
			list, found = append(list, c), found || h == fork
			for _, p := range c.ParentHashes {
				if !known[p] {
					known[p], next = true, append(next, p)
				}
			}
		}
		level = next
	}
	if !found { // add the fork point by itself
		c, err := object.GetCommit(o, fork)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	// Limits cut the end of the list, so the fork point must come early.
	if i := slices.IndexFunc(list, func(c *object.Commit) bool { return c.Hash == fork }); i > 1 {
		at := list[i]
		list = slices.Insert(slices.Delete(list, i, i+1), 1, at)
	}
	return list, nil
}
