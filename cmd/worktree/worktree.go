// Package worktree asks the git of this machine about the files that a person has checked
// out, and changes them when the person says so. Whose they are, who commits, what is not
// committed and what is ignored depends on settings that only git knows; so where git is
// missing, this says so. Nothing here is for a tree that anybody else may write.
package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/gitops"
)

// ErrNoGit says that there is no git on this machine.
var ErrNoGit = errors.New("git is not installed")

// ErrBare says that a clone has no files beside its commits.
var ErrBare = errors.New("this clone is bare, it has no files: take the branch, or pipe `handrail diff` into `git apply` where files are")

// Tree is the checked out files of a clone.
type Tree struct{ dir string }

// Of returns the tree at dir or above it.
func Of(ctx context.Context, dir string) (Tree, error) {
	top, err := Tree{dir}.git(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil && strings.Contains(err.Error(), "must be run in a work tree") {
		err = ErrBare
	}
	return Tree{strings.TrimSuffix(top, "\n")}, err
}

// Dir returns where it is.
func (t Tree) Dir() string { return t.dir }

// git runs a command of git's, without programs that a repository names.
func (t Tree) git(ctx context.Context, in io.Reader, args ...string) (string, error) {
	return t.with(ctx, in, nil, args...)
}

func (t Tree) with(ctx context.Context, in io.Reader, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", t.dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"}, args...)...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
	for _, v := range os.Environ() { // this may run in a hook, which has the names of another repository
		if !strings.HasPrefix(v, "GIT_DIR=") && !strings.HasPrefix(v, "GIT_WORK_TREE=") && !strings.HasPrefix(v, "GIT_INDEX_FILE=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")...)
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", ErrNoGit
	case err != nil && ctx.Err() == nil:
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out.String(), err
}

// Changed returns the paths with changes that are not committed: those that git knows,
// and those that it does not and does not ignore.
func (t Tree) Changed(ctx context.Context) ([]string, error) {
	text, err := t.git(ctx, nil, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal")
	var out []string
	for entry := range strings.SplitSeq(text, "\x00") {
		if len(entry) > 3 {
			out = append(out, entry[3:])
		}
	}
	return out, err
}

// Snapshot commits the files as they are, on top of head, and returns the commit. Branch
// and index stay as they are, and what is ignored is left out.
func (t Tree) Snapshot(ctx context.Context, head string, by gitops.Signature) (commit string, err error) {
	dir, err := os.MkdirTemp("", "handrail-index-")
	if err != nil {
		return "", fmt.Errorf("make index: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	env := []string{
		"GIT_INDEX_FILE=" + filepath.Join(dir, "index"), "GIT_AUTHOR_NAME=" + by.Name, "GIT_AUTHOR_EMAIL=" + by.Email,
		"GIT_COMMITTER_NAME=" + by.Name, "GIT_COMMITTER_EMAIL=" + by.Email,
	}
	tree := ""
	for _, args := range [][]string{{"read-tree", head}, {"add", "--all"}, {"write-tree"}} {
		if tree, err = t.with(ctx, nil, env, args...); err != nil {
			return "", err
		}
	}
	commit, err = t.with(ctx, nil, env, "commit-tree", strings.TrimSpace(tree), "-p", head, "-m", "Changes that were not committed")
	return strings.TrimSpace(commit), err
}

// Identity returns who commits here, as the settings of git say; the zero value where
// they do not.
func (t Tree) Identity(ctx context.Context) gitops.Signature {
	get := func(key string) string {
		value, _ := t.git(ctx, nil, "config", "--get", key) // it fails where there is none
		return strings.TrimSpace(value)
	}
	who := gitops.Signature{Name: get("user.name"), Email: get("user.email")}
	if who.Name == "" || who.Email == "" {
		return gitops.Signature{}
	}
	return who
}

// Default returns the branch that the remote origin has as its standard, as this clone
// knows it; "" where it does not.
func (t Tree) Default(ctx context.Context) string {
	name, err := t.git(ctx, nil, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(name), "origin/")
}

// Conflict says that a patch does not fit the files as they are. Nothing was changed.
type Conflict struct{ Said []string }

// Error implements error.
func (c *Conflict) Error() string { return strings.Join(c.Said, "; ") }

// Apply changes the files as a patch says, or takes that back: all of it or, where the
// files have other changes in the same places, nothing, which is a [Conflict].
func (t Tree) Apply(ctx context.Context, patch string, back bool) error {
	args := []string{"apply", "--whitespace=nowarn"}
	if back {
		args = append(args, "--reverse")
	}
	_, err := t.git(ctx, strings.NewReader(patch), args...)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return err
	}
	c := &Conflict{}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if _, said, ok := strings.Cut(line, "error: "); ok && !strings.HasPrefix(said, "patch failed") {
			c.Said = append(c.Said, said)
		}
	}
	return c
}

// CheckedOut returns the directory in which a branch of this clone is checked out, "" for
// none.
func (t Tree) CheckedOut(ctx context.Context, branch string) string {
	list, err := t.git(ctx, nil, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return ""
	}
	dir := ""
	for line := range strings.SplitSeq(list, "\x00") {
		if at, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = at
		}
		if line == "branch refs/heads/"+branch {
			return dir
		}
	}
	return ""
}
