package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
)

// commitFiles is the tree of a commit as project looks at it.
type commitFiles struct {
	repo   *gitops.Mirror
	commit string
}

// ReadAll implements project.Files. A symlink to a file beside it is
// followed, because instructions for several agents are often one file; no
// other is.
func (c commitFiles) ReadAll(ctx context.Context, name string, limit int64) ([]byte, fs.FileMode, error) {
	data, err := c.repo.ReadFile(ctx, c.commit, name, limit)
	switch {
	case errors.Is(err, gitops.ErrNotFound):
		return nil, 0, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	case errors.Is(err, gitops.ErrTooLarge):
		return nil, 0, fmt.Errorf("read %s: %w", name, workspace.ErrTooLarge)
	case err != nil:
		return nil, 0, err
	}
	dir := strings.Trim(path.Dir(name), ".")
	list, err := c.repo.List(ctx, c.commit, dir, false, 0)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range list {
		if e.Path != name || e.Kind != gitops.IsSymlink {
			continue
		}
		target := path.Join(path.Dir(name), string(data))
		if data, err = c.repo.ReadFile(ctx, c.commit, target, limit); err != nil || path.IsAbs(target) || target == name {
			return nil, 0, fmt.Errorf("follow %s: %w", name, fs.ErrNotExist)
		}
	}
	return data, 0, nil
}

// List implements project.Files.
func (c commitFiles) List(ctx context.Context, dir string, recursive bool, limit int) (workspace.Listing, error) {
	list, err := c.repo.List(ctx, c.commit, strings.Trim(dir, "."), recursive, 0)
	if err != nil {
		return workspace.Listing{}, err
	}
	out := workspace.Listing{Base: "."}
	for _, e := range list {
		if len(out.Entries) == limit {
			out.Left++
			continue
		}
		name := e.Path
		if e.Kind == gitops.IsDir || e.Kind == gitops.IsSubmodule {
			name += "/"
		}
		out.Entries = append(out.Entries, workspace.Entry{Path: name})
	}
	return out, nil
}

// prompt is what the agent is told of the project: facts from the files it
// works on, instructions only from the base branch.
func (e *engine) prompt(ctx context.Context, ws *workspace.Workspace, j job) (prompt.Builder, error) {
	facts, err := project.Discover(ctx, ws)
	if err != nil {
		return prompt.Builder{}, err
	}
	out := prompt.Builder{Project: facts.String() + fmt.Sprintf("\n- Branch: %s, from commit %s", j.task.Branch, short(j.task.Base))}
	if j.rulesAt != "" {
		out.Rules, err = project.Instructions(ctx, commitFiles{j.repo, j.rulesAt})
	}
	return out, err
}

// provide looks up what a request names: files as the workspace has them now,
// and links into the same repository as they were at their commit.
func provide(ws *workspace.Workspace, j job) func(context.Context, string) []session.Item {
	thread, _, _ := strings.Cut(j.task.Thread, "#")
	return func(ctx context.Context, words string) []session.Item {
		return project.Resolve(ctx, words, project.Places{Now: ws, At: func(ctx context.Context, repo, ref string) project.Files {
			known := thread != "" && strings.EqualFold(repo, thread)
			if !known && (thread != "" || !isCommitID(ref)) {
				return nil
			}
			commit, err := j.repo.Resolve(ctx, ref)
			if err != nil {
				return nil
			}
			return linked{commitFiles{j.repo, commit}, ws}
		}})
	}
}

// isCommitID says whether ref can only be a commit: elsewhere, a branch of the
// same name may be another one.
func isCommitID(ref string) bool {
	return len(ref) == 40 && strings.Trim(ref, "0123456789abcdef") == ""
}

// linked is the tree of a link. What the project keeps away from the agent
// stays away at every commit.
type linked struct {
	commitFiles
	now *workspace.Workspace
}

// ReadAll implements project.Files.
func (l linked) ReadAll(ctx context.Context, name string, limit int64) ([]byte, fs.FileMode, error) {
	if _, _, err := l.now.ReadAll(ctx, name, 1); errors.Is(err, workspace.ErrIgnored) {
		return nil, 0, err
	}
	return l.commitFiles.ReadAll(ctx, name, limit)
}

// mostPicture bounds a picture for the model.
const mostPicture = 8 << 20

// pictures reads files that a vision model is to see.
func pictures(files []string) ([]session.Blob, error) {
	var out []session.Blob
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, usage("read picture: %w", err)
		}
		if info.Size() > mostPicture {
			return nil, usage("picture %s has %d bytes, more than %d; make it smaller", name, info.Size(), mostPicture)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, usage("read picture: %w", err)
		}
		kind := http.DetectContentType(data)
		switch kind {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
		default:
			return nil, usage("%s is no picture that models take (PNG, JPEG, GIF or WebP); it looks like %s", name, kind)
		}
		out = append(out, session.Blob{Name: filepath.Base(name), Type: kind, Data: data})
	}
	return out, nil
}
