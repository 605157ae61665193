package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// restrict restricts a base to the paths of a workspace.
func restrict(r gitops.BaseRules, w policy.Workspace) gitops.BaseRules {
	if len(w.Paths) > 0 {
		r.Outside, r.OutsideKey = w.Outside, pathsKey(w)
	}
	return r
}

func pathsKey(w policy.Workspace) string {
	paths := slices.Clone(w.Paths)
	slices.Sort(paths)
	return fmt.Sprintf("%q", slices.Compact(paths))
}

func joinPaths(paths []string) string { return untrusted.EscapeLine(strings.Join(paths, ", ")) }

// tellPaths notes, for users and the model, the part of the repository in the
// workspace, and configured paths that are not directories: the session continues with
// the others. It notes this once, and again after a change.
func (e *Engine) tellPaths(ctx context.Context, j Job, at *session.State) error {
	r := e.asking(j, at)
	w := e.cfg.Rules.Workspace
	if len(w.Paths) == 0 {
		if hasPathsNote(at) {
			return r.tell(ctx, session.Note{Kind: session.NotePaths, Text: "All of the repository is in the workspace."})
		}
		return nil
	}
	var missing []string
	for _, dir := range w.Paths {
		if at.Saved == "" {
			break
		}
		if _, err := j.Repo.List(ctx, at.Saved, dir, false); errors.Is(err, gitops.ErrNotFound) {
			missing = append(missing, dir)
		} // other errors surface when the workspace is opened
	}
	text := "Only a part of the repository is in the workspace (workspace.paths): " + joinPaths(w.Paths) + "."
	if len(missing) > 0 {
		text += " There is no directory " + joinPaths(missing) + "."
	}
	text += "\nThe files that lie directly in the root and in the directories above these are there, too. The rest exists and is not here. What you write elsewhere is not kept."
	return r.tell(ctx, session.Note{Kind: session.NotePaths, Text: text})
}

func hasPathsNote(at *session.State) bool {
	return slices.ContainsFunc(at.Timeline, func(m session.Moment) bool {
		n, ok := m.(*session.Note)
		return ok && n.Kind == session.NotePaths
	})
}
