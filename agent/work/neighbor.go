package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
)

// resumed returns the other repositories with the changes that the session has made in them.
// A changed one keeps the commit that it was changed from.
func (e *Engine) resumed(ctx context.Context, j Job, at *session.State) (out []Other, err error) {
	for _, o := range j.Others {
		for _, n := range at.Neighbors {
			if !o.Write || !strings.EqualFold(n.Repository, o.Name) {
				continue
			}
			if len(n.Files) == 0 { // it was undone
				continue
			}
			saved, why := "", "another repository has its name now."
			if n.ID == "" || n.ID == o.ID { //control:neighbor-of-the-changed
				why = "the session moved to another machine, or this one lost them."
				saved, err = e.rebuiltNeighbor(ctx, j, o, n)
			}
			if err == nil && saved == "" {
				err = loseNeighbor(ctx, j, at, n, why)
			}
			if err != nil {
				return nil, err
			}
			if saved != "" {
				o.Commit, o.saved = n.Base, saved
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// loseNeighbor records that a saved change is gone, and why.
func loseNeighbor(ctx context.Context, j Job, at *session.State, n session.Neighbor, why string) error {
	gone := session.Neighbor{Repository: n.Repository, Base: n.Base}
	events := []*session.Event{
		lostNote("The changes in " + n.Repository + " are gone: " + why),
		session.NewEvent(session.TypeState, at.Turns, session.Update{Neighbors: []session.Neighbor{gone}}),
	}
	if err := j.Log.Append(ctx, events...); err != nil {
		return fmt.Errorf("record lost change: %w", err)
	}
	for _, ev := range events {
		if err := at.Apply(*ev); err != nil {
			return err
		}
	}
	return nil
}

// rebuiltNeighbor returns the commit of a saved change, made anew from the log if this machine
// lacks it, and "" if the log lacks it too.
func (e *Engine) rebuiltNeighbor(ctx context.Context, j Job, o Other, n session.Neighbor) (string, error) {
	_, err := o.Repo.Resolve(ctx, n.Commit)
	if !errors.Is(err, gitops.ErrNotFound) {
		return n.Commit, err
	}
	if _, err := o.Repo.Resolve(ctx, n.Base); err != nil { // its history was rewritten
		return "", ctx.Err()
	}
	content, err := e.unseal(ctx, j, &session.Checkpoint{Content: n.Content})
	if err != nil || len(content) == 0 {
		return "", err
	}
	saves := &checkpoints{job: Job{Task: j.Task, Repo: o.Repo, Commits: j.Commits}, secrets: e.cfg.Secrets}
	c, err := o.Repo.Checkpoint(ctx, gitops.Checkpoint{
		Parent: n.Base, Changes: storedChanges(content), Meta: saves.meta("Saved state", 0),
	})
	if err != nil {
		return "", fmt.Errorf("rebuild the change of %s: %w", o.Name, err)
	}
	return c.ID, saves.updatePrivateRef(ctx, c.ID)
}

// neighbors returns the checkpoints of the other repositories that may be changed.
func (e *Engine) neighbors(ws place, j Job) (out []*checkpoints) {
	for i, o := range j.Others {
		if !o.Write {
			continue
		}
		task := session.Task{Session: j.Task.Session, Requester: j.Task.Requester, Base: o.Commit}
		out = append(out, &checkpoints{
			ws:        ws.Workspace,
			hidden:    ws.others[i],
			job:       Job{Task: task, Repo: o.Repo, Commits: j.Commits},
			base:      cmp.Or(o.saved, o.Commit),
			published: o.Commit,
			since:     o.Commit,
			secrets:   e.cfg.Secrets,
			name:      o.Name,
			id:        o.ID,
			within:    workspace.Other{Name: o.Name}.Path(),
		})
	}
	return out
}

// withChanges returns the other repositories with their changes as last saved.
func (c *checkpoints) withChanges(list []Other) []Other {
	out := slices.Clone(list)
	for i := range out {
		for _, n := range c.others {
			if n.name == out[i].Name {
				out[i].saved = cmp.Or(n.saved, out[i].saved)
			}
		}
	}
	return out
}

// saveNeighbor adds the change of another repository to a saved state. Without keep the
// directory is reset to its last saved state instead.
func (c *checkpoints) saveNeighbor(ctx context.Context, turn int, keep bool, saved *agent.Saved) error {
	found, err := c.ws.OtherChanges(ctx, c.name)
	if err != nil {
		return fmt.Errorf("list changes of %s: %w", c.name, err)
	}
	if !keep { //control:neighbor-of-a-mode
		return c.discard(ctx, found)
	}
	if c.spoiled != "" {
		saved.LeftOut = append(saved.LeftOut, newLeftOut(c.within, "files there could not be put back: "+c.spoiled))
		return nil
	}
	can := c.sort(ctx, found)
	for _, l := range can.left {
		saved.LeftOut = append(saved.LeftOut, newLeftOut(c.at(l.Path), l.Why))
	}
	if can.none || len(can.changes) == 0 && c.tree == "" {
		return nil
	}
	commit, err := c.job.Repo.Checkpoint(ctx, gitops.Checkpoint{
		Parent: c.base, Last: c.tree, Changes: can.changes, Meta: c.meta("Saved state", turn),
		Skip: func(err error) bool { return ctx.Err() == nil && !errors.Is(err, workspace.ErrGone) },
	})
	if err != nil {
		return err
	}
	for _, l := range leftOut(commit) {
		saved.LeftOut = append(saved.LeftOut, newLeftOut(c.at(l.Path), l.Why))
	}
	same := c.tree == commit.Tree || c.tree == "" && commit.Empty
	if c.tree, c.saved = commit.Tree, commit.ID; same {
		return nil
	}
	if err := c.updatePrivateRef(ctx, commit.ID); err != nil {
		return err
	}
	stats, _, err := c.changes(ctx, commit.ID)
	if err != nil {
		return err
	}
	n := session.Neighbor{
		Repository: c.name,
		ID:         c.id,
		Base:       c.published,
		Commit:     commit.ID,
		Tree:       commit.Tree,
		Files:      fileChanges(stats),
	}
	n.Content, err = c.storedContent(ctx, commit.ID, stats)
	saved.Neighbors = append(saved.Neighbors, n)
	return err
}
