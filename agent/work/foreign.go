package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/handrail-bot/handrail/gitops"
)

// ignoreName is the file that hides others from the agent.
const ignoreName = ".agentignore"

// ignoreAt is the commit whose rules hide files, "" for those of the files themselves:
// who brings files from outside does not say what of ours they show.
func (j Job) ignoreAt() string {
	if !j.Foreign {
		return ""
	}
	return j.RulesAt
}

// ignoreAs has a directory hide from the agent what a commit hides: its own rules go,
// and those of the commit take their places.
func ignoreAs(ctx context.Context, repo *gitops.Mirror, commit, dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open export: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var theirs []string
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Base(name) == ignoreName {
			theirs = append(theirs, name)
		}
		if err == nil && d.IsDir() && path.Base(name) == ignoreName {
			return fs.SkipDir
		}
		return err
	})
	for _, name := range theirs {
		err = errors.Join(err, root.RemoveAll(name))
	}
	if err != nil {
		return fmt.Errorf("take rules of a fork away: %w", err)
	}
	list, err := repo.List(ctx, commit, "", true)
	if err != nil {
		return fmt.Errorf("list rules of the base: %w", err)
	}
	for _, e := range list {
		if path.Base(e.Path) != ignoreName || e.Kind == gitops.IsDir || e.Kind == gitops.IsSubmodule || !plainDir(root, path.Dir(e.Path)) {
			continue
		}
		text, err := repo.ReadFile(ctx, commit, e.Path, mostIgnore)
		if err != nil {
			return fmt.Errorf("read rules of the base: %w", err)
		}
		if err := root.WriteFile(e.Path, text, 0o644); err != nil {
			return fmt.Errorf("write rules of the base: %w", err)
		}
	}
	return nil
}

// mostIgnore is how much of a file with rules is read.
const mostIgnore = 1 << 20

// plainDir reports whether a path is a directory, and none of it a symlink.
func plainDir(root *os.Root, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if info, err := root.Lstat(name); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}
