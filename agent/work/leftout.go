package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
)

// Limits of a checkpoint: GitHub's for one file, and a tolerable total for a mirror.
// Sparse files, which cost a workspace nothing, make them necessary.
const (
	maxFile  = 100 << 20
	maxSaved = 512 << 20
)

// sortedChanges splits the reported changes into storable and omitted ones.
type sortedChanges struct {
	changes []gitops.Change
	left    []session.LeftOut
	none    bool // the tree is unreadable, so nothing changes
}

// sort selects the changes that can be stored. An omitted file keeps its last saved
// state, because its present content is unknown.
func (c *checkpoints) sort(ctx context.Context, found []workspace.Change) sortedChanges {
	var out sortedChanges
	var built []session.LeftOut
	room := int64(maxSaved)
	for _, f := range found {
		why, keep := f.Why, f.Mode.IsDir()
		switch {
		case agent.Scratch(f.Path):
			continue
		case c.hidden.masked(f):
			why = "settings of an external agent"
		case c.hidden.covers(f): //control:hidden-stays
			why = "hidden from the agent by `.agentignore`"
		case c.hidden.outside(f): //control:outside-stays
			why = "outside of `workspace.paths`: the branch stays as it is there"
		case f.Kind == workspace.Created && !keep && !f.Wrote && c.leftover(ctx, f.Path, &built): //control:build-leftovers
			continue
		case f.Why != "" && f.Path == ".":
			out.none = out.none || keep
			keep = false
		case f.Why != "" || f.Kind == workspace.Deleted:
		case tooLong(f.Path):
			why = "a path that is too long for git"
		case f.Size > maxFile:
			why, keep = fmt.Sprintf("it has %d MiB, and a file may have %d", f.Size>>20, maxFile>>20), true
		case f.Size > room:
			why, keep = fmt.Sprintf("the changed files have more than the %d MiB that are kept of a session", maxSaved>>20), true
		default:
			room -= f.Size
		}
		if why != "" { //control:left-out
			out.left = append(out.left, newLeftOut(f.Path, why))
		}
		if why == "" || keep {
			out.changes = append(out.changes, c.change(ctx, f, keep))
		}
	}
	out.left = append(out.left, built...)
	return out
}

// covers reports whether a change is at a hidden path, or would replace a directory
// that contains one. Commits keep such paths unchanged.
func (p place) covers(f workspace.Change) bool { return p.at(f, p.rules.Hides) || p.masked(f) }

// masked is [place.covers] for settings of external agents.
func (p place) masked(f workspace.Change) bool { return p.at(f, p.masks.masks) }

// outside is [place.covers] for files outside of the workspace's paths.
func (p place) outside(f workspace.Change) bool { return p.at(f, p.shows.Outside) }

func (p place) at(f workspace.Change, not func(name string) bool) bool {
	return not(f.Path) || f.Kind != workspace.Deleted && !f.Mode.IsDir() &&
		slices.ContainsFunc(p.gone, func(gone string) bool { return strings.HasPrefix(gone, f.Path+"/") && not(gone) })
}

// leftover reports whether a new file is a by-product of a build or a test, and then
// notes it once for each kind. Files in directories of the repository are no by-products.
func (c *checkpoints) leftover(ctx context.Context, name string, noted *[]session.LeftOut) bool {
	if c.own == nil {
		base, repo := c.job.Task.Base, c.job.Repo
		c.own = &project.Own{Ask: func(dir string) (bool, string) {
			_, err := repo.List(ctx, base, dir, false)
			text, none := repo.ReadFile(ctx, base, path.Join(dir, ".gitignore"), 1<<20)
			if none != nil { // missing, or unreadable for git
				text = nil
			}
			return base != "" && !errors.Is(err, gitops.ErrNotFound), string(text)
		}}
	}
	kind, ok := c.own.FindLeftover(name)
	l := session.LeftOut{Path: kind.Pattern, Why: "build leftovers (" + kind.Of + "), unless a file tool writes them"}
	if ok && !slices.Contains(*noted, l) {
		*noted = append(*noted, l)
	}
	return ok
}

// tooLong reports whether a path exceeds git's limit.
func tooLong(path string) bool { return len(path) > 4096 }

// newLeftOut returns a LeftOut for a path, shortened to its end if long.
func newLeftOut(path, why string) session.LeftOut {
	name := []rune(strings.ToValidUTF8(path, "\uFFFD"))
	if n := len(name) - 200; n > 0 {
		name = append([]rune("…"), name[n:]...)
	}
	return session.LeftOut{Path: string(name), Why: why}
}

// change converts a reported change for git. A file that was changed back gets the mode
// that it has on the branch.
func (c *checkpoints) change(ctx context.Context, f workspace.Change, keep bool) gitops.Change {
	ch := gitops.Change{
		Path: f.Path, Delete: f.Kind == workspace.Deleted, Keep: keep,
		Exec: f.Mode&0o111 != 0, Symlink: f.Mode&fs.ModeSymlink != 0,
	}
	ch.Open = func() (io.ReadCloser, error) { return c.ws.Content(ctx, c.at(f.Path)) }
	if !ch.Delete && !keep && !ch.Symlink {
		c.restoreMode(f.Path, &ch)
	}
	return ch
}

// strayWork returns the work that is only in the repository inside of the workspace.
func strayWork(list []workspace.Stray) (out []session.LeftOut) {
	for _, s := range list {
		why := "a branch in the workspace with work that the files do not have"
		switch {
		case s.Ref == "refs/stash":
			why = "work that git put aside in the workspace"
		case strings.HasPrefix(s.Ref, "refs/tags/"):
			why = "a tag in the workspace with work that the files do not have"
		case strings.HasPrefix(s.Ref, "refs/") && !strings.HasPrefix(s.Ref, "refs/heads/"):
			why = "a ref in the workspace with work that the files do not have"
		case strings.HasPrefix(s.Ref, workspace.StrayCommit):
			why = "work in the workspace that no branch has"
		}
		if len(s.Paths) > 0 {
			why += ": " + strings.Join(s.Paths, ", ")
		}
		if s.More > 0 {
			why += fmt.Sprintf(" and %d more", s.More)
		}
		out = append(out, newLeftOut(s.Ref, why))
	}
	return out
}

// leftOut returns the files that git omitted from a commit, with the reasons.
func leftOut(c gitops.Commit) []session.LeftOut {
	var out []session.LeftOut
	for _, p := range c.Refused {
		out = append(out, newLeftOut(p, "a name that git keeps for itself"))
	}
	for _, l := range c.LeftOut {
		out = append(out, newLeftOut(l.Path, whyUnread(l.Err)))
	}
	for _, p := range c.Submodules { //control:submodule-is-told
		why := "a submodule, that is another repository: changes inside belong to a clone of its own"
		out = append(out, newLeftOut(p, why))
	}
	return out
}

// whyUnread explains briefly why a file could not be read.
func whyUnread(err error) string {
	var attribute *gitops.Unstorable
	switch {
	case errors.As(err, &attribute):
		return attribute.Why
	case errors.Is(err, fs.ErrPermission):
		return "it cannot be read; change its mode to keep it"
	case errors.Is(err, gitops.ErrTooLarge):
		return fmt.Sprintf("it has more than the %d MiB that a file may have", maxFile>>20)
	case errors.Is(err, fs.ErrNotExist):
		return "it went away while it was read"
	case errors.Is(err, workspace.ErrNotFile):
		return "it is no file any more"
	}
	return "it could not be read whole; something writes to it all the time"
}
