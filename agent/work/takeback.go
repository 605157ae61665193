package work

import (
	"cmp"
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

// takeBack undoes or redoes checkpoints as the user requested: the next saved state
// lacks them, or has them again. It reaches the branch like any other state, through
// the same gate.
func (e *Engine) takeBack(ctx context.Context, j Job, at *session.State) error {
	if at.TakeBack == nil {
		return nil
	}
	wish := at.TakeBack.TakeBack
	saves := &checkpoints{job: j, secrets: e.cfg.Secrets, published: at.Published}
	if wish.Do == session.Rebase || at.TakingIn() != nil {
		events, err := e.takeIn(ctx, saves, at)
		if err != nil {
			return err
		}
		return record(ctx, j, at, events)
	}
	meta := saves.meta("", at.Turns)
	meta.Message, meta.When = "", at.Updated // a repeated request yields the same commit, also after a crash
	c, err := j.Repo.Undo(ctx, gitops.Undo{
		Redo: wish.Do == session.Redo, Head: at.Published, From: at.Saved, N: wish.N, Session: at.Task.Session,
		Base: cmp.Or(at.Kept, at.Task.Base), Paths: wish.Paths, Keep: at.KeptOf, Meta: meta,
	})
	var events []*session.Event
	tell := func(text string) {
		events = append(
			events,
			session.NewEvent(session.TypeNote, at.Turns, session.Note{Kind: session.NoteTookBack, Text: text}),
		)
	}
	switch {
	case errors.Is(err, gitops.ErrNothing), err == nil && (c.Empty || c.Tree == treeOf(at)):
		few := gitops.TooFew(0)
		errors.As(err, &few)
		tell(nothingToTakeBack(wish, int(few), at))
	case errors.Is(err, gitops.ErrMerge):
		tell("I did not undo anything: my last step merged the base branch. A commit that undoes the merge would undo it for all as soon as this is merged. " + how(at, session.Undo, 2) + " undoes my step before it, and keeps the changes of the base branch.")
	case errors.Is(err, gitops.ErrConflict):
		tell(
			fmt.Sprintf(
				"I did not %s anything: other changes were made to the same lines since (%s). Say how to treat them.",
				wish.Do,
				untrusted.EscapeLine(err.Error()),
			),
		)
	case err != nil:
		return err
	default:
		made, err := j.Repo.MetaOf(ctx, c.ID)
		if err != nil {
			return err
		}
		if err := saves.updatePrivateRef(ctx, c.ID); err != nil {
			return err
		}
		var content []session.Stored
		if j.Push != nil { // another machine may continue from here
			if content, err = saves.storedContent(ctx, c.ID, c.Files); err != nil {
				return err
			}
		}
		_, list, _ := strings.Cut(made.Message, "\n\n")
		tell(
			map[bool]string{false: "Undone (" + how(at, session.Redo, 1) + " brings it back):", true: "Redone:"}[wish.Do == session.Redo] + "\n\n" + list,
		)
		events = append(events, session.NewEvent(
			session.TypeCheckpoint,
			at.Turns,
			session.Checkpoint{
				Commit:   c.ID,
				Tree:     c.Tree,
				Parent:   at.Published,
				Files:    fileChanges(c.Files),
				Parked:   true,
				TookBack: wish.Do,
				Content:  content,
			},
		))
	}
	return record(ctx, j, at, events)
}

// record appends events to the log and applies them to the state.
func record(ctx context.Context, j Job, at *session.State, events []*session.Event) error {
	if err := j.Log.Append(ctx, events...); err != nil {
		return fmt.Errorf("append to log: %w", err)
	}
	for _, ev := range events {
		if err := at.Apply(*ev); err != nil {
			return err
		}
		if j.OnEvent != nil {
			j.OnEvent(*ev)
		}
	}
	return nil
}

// treeOf returns the tree of the saved state, or "" if the log lacks it.
func treeOf(at *session.State) string {
	if at.Newest == nil {
		return ""
	}
	return at.Newest.Tree
}

// nothingToTakeBack explains an empty undo or redo. there counts possible ones.
func nothingToTakeBack(wish *session.TakeBack, there int, at *session.State) string {
	past := "can be undone"
	if wish.Do == session.Redo {
		past = "were undone"
	}
	one := "checkpoints "
	if there == 1 {
		one, past = "checkpoint ", strings.Replace(past, "were", "was", 1)
	}
	switch {
	case there > 0 && len(wish.Paths) == 0:
		return fmt.Sprintf(
			"Nothing was changed: there are not that many. %d %s%s: %s.",
			there,
			one,
			past,
			how(at, wish.Do, there),
		)
	case wish.Do == session.Redo:
		return "There is nothing to redo: no change of this session is undone at the moment."
	case len(wish.Paths) == 0:
		return "There is nothing to undo: the changes of this session are undone already, or kept."
	case there > 0:
		return fmt.Sprintf("Nothing was changed: %d %schanged %s in a way that %s.", there, one, quotePaths(wish.Paths), past)
	}
	var known []string
	for _, c := range at.Checkpoints {
		for _, f := range c.Files {
			known = append(known, f.Path)
		}
	}
	said := ""
	for _, p := range wish.Paths {
		inside := func(f string) bool { return f == p || strings.HasPrefix(f, strings.Trim(p, "/")+"/") }
		if slices.ContainsFunc(known, inside) {
			return fmt.Sprintf("There is nothing to undo in %s: my changes there are undone already.", quotePaths(wish.Paths))
		}
		if meant := policy.Nearest(p, known); meant != "" {
			said = fmt.Sprintf(" Did you mean %s?", quotePaths([]string{meant}))
		}
	}
	return fmt.Sprintf("Nothing was changed: no checkpoint of this session changed %s.%s", quotePaths(wish.Paths), said)
}

// how returns the command for a request: in the thread, or in the terminal.
func how(at *session.State, do session.TakeBackKind, n int) string {
	if at.Task.Thread != "" {
		return "`" + strings.TrimSuffix(fmt.Sprintf("/agent %s %d", do, n), " 1") + "`"
	}
	said := "`handrail undo " + at.Task.Session
	if do == session.Redo {
		said += " --redo"
	}
	if n > 1 {
		said += fmt.Sprintf(" --steps %d", n)
	}
	return said + "`"
}

func quotePaths(paths []string) string {
	var out []string
	for _, p := range paths {
		out = append(out, "`"+untrusted.EscapeLine(strings.ReplaceAll(p, "`", ""))+"`")
	}
	return strings.Join(out, ", ")
}
