// Package worktree reads and changes the user's checked out files with the installed git.
// Their owner, the committer, the uncommitted changes and the ignored files depend on
// settings that only git knows; if git is missing, the error says so. It is not for a
// tree that another user can write.
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

// ErrNoGit means that git is not installed on this machine.
var ErrNoGit = errors.New("git is not installed")

// ErrBare means that a clone has no checked out files.
var ErrBare = errors.New(
	"this clone is bare, it has no files: take the branch, or pipe `handrail diff` into `git apply` where files are",
)

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

// Dir returns the root directory of the tree.
func (t Tree) Dir() string { return t.dir }

// git runs a git command, without programs that the repository configures.
func (t Tree) git(ctx context.Context, in io.Reader, args ...string) (string, error) {
	return t.with(ctx, in, nil, args...)
}

func (t Tree) with(ctx context.Context, in io.Reader, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(
		ctx,
		"git",
		append(
			[]string{"-C", t.dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"},
			args...)...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
	for _, v := range os.Environ() { // in a git hook these variables point to another repository
		if !strings.HasPrefix(v, "GIT_DIR=") && !strings.HasPrefix(v, "GIT_WORK_TREE=") &&
			!strings.HasPrefix(v, "GIT_INDEX_FILE=") {
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

// Changed returns the paths with uncommitted changes, untracked files included. Ignored
// files are left out.
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

// Snapshot commits the current files on top of head, and returns the commit. It leaves
// the branch and the index alone, and excludes ignored files.
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
	commit, err = t.with(
		ctx,
		nil,
		env,
		"commit-tree",
		strings.TrimSpace(tree),
		"-p",
		head,
		"-m",
		"Changes that were not committed",
	)
	return strings.TrimSpace(commit), err
}

// Identity returns the committer from git's settings. It is the zero value if they are
// incomplete.
func (t Tree) Identity(ctx context.Context) gitops.Signature {
	get := func(key string) string {
		value, _ := t.git(ctx, nil, "config", "--get", key) // git fails if the key is not set
		return strings.TrimSpace(value)
	}
	who := gitops.Signature{Name: get("user.name"), Email: get("user.email")}
	if who.Name == "" || who.Email == "" {
		return gitops.Signature{}
	}
	return who
}

// Default returns the default branch of the remote origin, as recorded in this clone. It
// is empty if unknown.
func (t Tree) Default(ctx context.Context) string {
	name, err := t.git(ctx, nil, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(name), "origin/")
}

// Conflict means that a patch does not fit the files. Nothing was changed.
type Conflict struct{ Said []string }

// Error implements error.
func (c *Conflict) Error() string { return strings.Join(c.Said, "; ") }

// Apply applies a patch to the files, or reverts it if back. If the files have other
// changes in the same places, nothing changes and the error is a [Conflict].
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

// CheckedOut returns the directory in which a branch of this clone is checked out. It is
// empty if there is none.
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
