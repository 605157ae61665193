package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
)

// takeIn merges the base branch into the work at the user's request: the next saved
// state has both. It reaches the branch like any other state, as a merge, once no file
// has unresolved conflicts. An undo aborts a merge in progress.
func (e *Engine) takeIn(ctx context.Context, c *checkpoints, at *session.State) ([]*session.Event, error) {
	wish := at.TakeBack.TakeBack
	note := func(kind session.NoteKind, format string, a ...any) *session.Event {
		return session.NewEvent(session.TypeNote, at.Turns, session.Note{Kind: kind, Text: fmt.Sprintf(format, a...)})
	}
	if under := at.TakingIn(); under.Unsettled() || under != nil && wish.Do != session.Rebase {
		if wish.Do == session.Undo && len(wish.Paths) == 0 {
			return []*session.Event{
				note(session.NoteTookBack, "Gave up merging `%s`: the files are as they are on the branch.", under.Branch),
				session.NewEvent(
					session.TypeCheckpoint,
					at.Turns,
					session.Checkpoint{Commit: at.Published, Parent: at.Published, Parked: true},
				),
			}, nil
		}
		return []*session.Event{
			note(
				session.NoteConflicts,
				"Merging `%s` comes first: conflicts are left in %s. Resolve them; `/agent undo` gives it up.",
				under.Branch,
				strings.Join(under.Open, ", "),
			),
		}, nil
	}
	if c.job.Push != nil {
		if err := c.job.Repo.Fetch(ctx); err != nil {
			return nil, err
		}
	}
	head, err := HeadOf(ctx, c.job.Repo, wish.Branch)
	if err != nil {
		return nil, err
	}
	if head == "" {
		return []*session.Event{note(session.NoteTookBack, "There is no branch `%s` to merge.", wish.Branch)}, nil
	}
	m := &session.Merge{Branch: wish.Branch, Commit: head, Turn: at.Turns}
	meta := c.meta(mergeSubject(m, at.Branch), at.Turns)
	meta.Merges, meta.When = head, at.Updated // a repeated request yields the same commit, also after a crash
	made, conflicts, err := gitops.TakeIn{
		Head:  at.Published,
		From:  at.Saved,
		Names: [2]string{at.Branch, wish.Branch},
		Meta:  meta,
	}.Merge(
		ctx,
		c.job.Repo,
	)
	if errors.Is(err, gitops.ErrNothing) {
		return []*session.Event{
			note(session.NoteTookBack, "There is nothing to merge: the branch has all of `%s` already.", wish.Branch),
		}, nil
	}
	if err != nil {
		return nil, err
	}
	inside := func(f string) bool { return !e.cfg.Rules.Workspace.Outside(f) }
	if unseen := slices.DeleteFunc(slices.Clone(conflicts), inside); len(unseen) > 0 {
		return []*session.Event{
			note(
				session.NoteTookBack,
				"I did not merge `%s`: both sides changed the same lines of %s, which I cannot resolve because it is outside of `workspace.paths`. Merge it by hand, or add the directory to the paths.",
				wish.Branch,
				joinPaths(unseen),
			),
		}, nil
	}
	if err := c.updatePrivateRef(ctx, made.ID); err != nil {
		return nil, err
	}
	m.Conflicts, c.merge = conflicts, m
	m, err = c.stillOpen(ctx, made.ID)
	if err != nil {
		return nil, err
	}
	cp, err := c.mergeCheckpoint(ctx, made, m)
	if err != nil {
		return nil, err
	}
	said := note(session.NoteTookBack, "Merged `%s`: its commit %s is part of the branch now.", m.Branch, head[:10])
	if len(conflicts) > 0 {
		said = note(session.NoteConflicts, "%s", conflictText(m, at.Branch))
	}
	return []*session.Event{said, session.NewEvent(session.TypeCheckpoint, at.Turns, cp)}, nil
}

// conflictText tells the model to resolve the conflicts. Users see its first line.
func conflictText(m *session.Merge, branch string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Merged `%s`; both sides changed the same lines of %s.\n\n", m.Branch, strings.Join(m.Conflicts, ", "))
	fmt.Fprintf(
		&b,
		"Your workspace has both. Settle each conflict so that what either side wanted stays true, and do nothing else. ",
	)
	if len(m.Open) > 0 {
		fmt.Fprintf(
			&b,
			"In %s the lines of %s stand after <<<<<<<, and those of %s after =======: write what is to be there in the place of all of it, and take the marks out. ",
			strings.Join(m.Open, ", "),
			branch,
			m.Branch,
		)
	}
	open := func(f string) bool { return slices.Contains(m.Open, f) }
	if rest := slices.DeleteFunc(slices.Clone(m.Conflicts), open); len(rest) > 0 {
		fmt.Fprintf(
			&b,
			"%s cannot be shown so: one side deleted it or made it another kind of file, or it is no text. It is as one side has it; see whether that is right. ",
			strings.Join(rest, ", "),
		)
	}
	return b.String() + "The work goes to the branch when no marks are left. Then complete."
}

// mergeCheckpoint returns the checkpoint of a saved state with a merge in progress.
func (c *checkpoints) mergeCheckpoint(
	ctx context.Context,
	made gitops.Commit,
	m *session.Merge,
) (session.Checkpoint, error) {
	cp := session.Checkpoint{Commit: made.ID, Tree: made.Tree, Parent: c.published, Parked: true, Merge: m}
	all, ours, err := c.changes(ctx, made.ID)
	if err == nil && c.job.Push != nil { // another machine may continue from here
		cp.Content, err = c.storedContent(ctx, made.ID, all)
	}
	cp.Files = fileChanges(ours)
	return cp, err
}

func mergeSubject(m *session.Merge, branch string) string {
	return fmt.Sprintf("Merge branch '%s' into %s", m.Branch, branch)
}

// changes returns all changes from the branch to a saved state. ours omits those that
// equal the merged base branch: they need no approval here.
func (c *checkpoints) changes(ctx context.Context, saved string) (all, ours []gitops.FileStat, err error) {
	_, all, err = c.job.Repo.Diff(ctx, c.published, saved, gitops.DiffOptions{MaxBytes: 1})
	if err != nil || c.merge == nil {
		return all, all, err
	}
	_, besides, err := c.job.Repo.Diff(ctx, c.merge.Commit, saved, gitops.DiffOptions{MaxBytes: 1})
	differs := map[string]bool{}
	for _, s := range besides {
		differs[s.Path], differs[s.Old] = true, true
	}
	for _, s := range all {
		if differs[s.Path] || s.Old != "" && differs[s.Old] { //control:base-needs-no-yes
			ours = append(ours, s)
		}
	}
	return all, ours, err
}

// stillOpen returns the merge in a saved state, with its unresolved files.
func (c *checkpoints) stillOpen(ctx context.Context, saved string) (*session.Merge, error) {
	if c.merge == nil {
		return nil, nil
	}
	m := *c.merge
	var err error
	m.Open, err = gitops.Unsettled(ctx, c.job.Repo, saved, m.Conflicts, c.published, m.Commit)
	return &m, err
}

// describe returns the checkpoint for a commit on the branch, on top of parent.
func (c *checkpoints) describe(
	ctx context.Context,
	p agent.Publication,
	parent string,
	commit gitops.Commit,
) (out session.Checkpoint, err error) {
	out = session.Checkpoint{
		Commit:   commit.ID,
		Tree:     commit.Tree,
		Parent:   p.Parent,
		Files:    fileChanges(commit.Files),
		TookBack: p.TookBack,
		Merge:    p.Merge,
	}
	switch {
	case p.Merge != nil:
		out.Files, err = wholeChanges(ctx, c.job.Repo, p.Merge.Commit, commit.ID)
	case parent != p.Parent: // with those of the commit between
		out.Files, err = wholeChanges(ctx, c.job.Repo, p.Parent, commit.ID)
	}
	return out, err
}
