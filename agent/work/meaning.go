package work

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"

	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// Limits of the files for the index.
const (
	maxMeaning = 256 << 10 // bytes of one file
	maxChanged = 500       // changed files to read at a question
)

// meaning returns the session's view of the index, and asks for the vectors of its files.
// It is nil without an index.
func (e *Engine) meaning(ctx context.Context, ws place, j Job, at *session.State) (*index.View, error) {
	if e.cfg.Index == nil || at.Saved == "" {
		return nil, nil //nolint:nilnil // nil means none
	}
	shows := visible(ws)
	list, err := j.Repo.List(ctx, at.Saved, "", true)
	if errors.Is(err, gitops.ErrTooLarge) {
		e.cfg.Log.WarnContext(ctx, "repository is too large for the index", "repo", j.Name, "err", err)
		return nil, nil //nolint:nilnil // nil means none
	}
	if err != nil {
		return nil, err
	}
	tree := index.Tree{Repo: j.repoName(), Read: func(ctx context.Context, path string) ([]byte, error) {
		return j.Repo.ReadFile(ctx, at.Saved, path, maxMeaning)
	}}
	for _, f := range list {
		if f.Kind == gitops.IsSymlink || f.Kind == gitops.IsSubmodule || index.Excludes(f.Path) {
			continue
		}
		if shows(f.Path) { //control:hidden-has-no-meaning
			tree.Files = append(tree.Files, index.File{Path: f.Path, Blob: f.ID})
		}
	}
	e.cfg.Index.Want(tree)
	return &index.View{Index: e.cfg.Index, Tree: tree, Changed: changedFiles(ws, shows)}, nil
}

// repoName names the repository of a job: owner/name, or its display name.
func (j Job) repoName() string {
	repo, _, _ := strings.Cut(j.Task.Thread, "#")
	return cmp.Or(repo, j.Name)
}

// visible returns a function that reports whether a path of the repository is in the
// workspace.
func visible(ws place) func(path string) bool {
	return func(path string) bool {
		return !ws.rules.Hides(path) && !isOutside(ws.shows, path)
	}
}

func isOutside(w policy.Workspace, path string) bool { return len(w.Paths) > 0 && w.Outside(path) }

// changedFiles returns the changes of a workspace for the index. Ignored files, such as
// the results of a build, are none.
func changedFiles(ws place, shows func(string) bool) func(context.Context) (index.Changes, error) {
	return func(ctx context.Context) (index.Changes, error) {
		out := index.Changes{Files: map[string][]byte{}}
		list, err := ws.Changes(ctx)
		if err != nil || len(list) == 0 {
			return out, err
		}
		all, err := ws.List(ctx, ".", true, math.MaxInt32)
		if err != nil {
			return out, err
		}
		listed := map[string]bool{}
		for _, f := range all.Entries {
			listed[f.Path] = true
		}
		read := 0
		for _, c := range list {
			out.Files[c.Path] = nil
			gone := c.Kind == workspace.Deleted || !c.Mode.IsRegular() || !listed[c.Path]
			if gone || !shows(c.Path) || index.Excludes(c.Path) {
				continue
			}
			if read++; read > maxChanged {
				out.Left++
				continue
			}
			text, _, err := ws.ReadAll(ctx, c.Path, maxMeaning)
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			if err == nil { // too large, or gone since
				out.Files[c.Path] = text
			}
		}
		return out, nil
	}
}
