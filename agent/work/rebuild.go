package work

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/secret"
)

// maxStored is the maximum size in bytes that an unfinished state may add to the log.
const maxStored = 1 << 20

// storedContent returns the files of a saved state that differ from the branch, sealed,
// because they may hold secrets and only a resuming machine reads them. It returns nil
// without a key, or if they are too large for the log.
func (c *checkpoints) storedContent(
	ctx context.Context,
	commit string,
	stats []gitops.FileStat,
) ([]session.Stored, error) {
	if c.secrets.Contents == nil {
		return nil, nil
	}
	repo := c.job.Repo
	var out []session.Stored
	room := int64(maxStored)
	for _, s := range stats {
		if s.Old != "" {
			out = append(out, session.Stored{Path: s.Old})
		}
		one := session.Stored{Path: s.Path}
		if s.Kind != gitops.KindDelete {
			data, err := repo.ReadFile(ctx, commit, s.Path, max(room, 1))
			if errors.Is(err, gitops.ErrTooLarge) {
				return nil, nil
			}
			if err != nil {
				return nil, fmt.Errorf("read saved %s: %w", s.Path, err)
			}
			room -= int64(len(data))
			one.Mode, _, _ = strings.Cut(s.Object, " ")
			one.Sealed = c.secrets.Contents.Name
			if one.Data, err = c.secrets.seal(data, c.job.Task.Session+" "+s.Path); err != nil {
				return nil, fmt.Errorf("seal saved %s: %w", s.Path, err)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// rebuild ensures that the commits named by the log are present. A missing saved state,
// made on another machine or lost on this one, is rebuilt from the log. If the log is
// incomplete, the session returns to its last available checkpoint, and a note tells
// the model and users.
func (e *Engine) rebuild(ctx context.Context, j Job, at *session.State) error {
	for _, c := range []string{at.Published, at.Saved} {
		if c == "" {
			continue
		}
		if _, err := j.Repo.Resolve(ctx, c); err != nil { // missing or damaged
			return errors.Join(ctx.Err(), e.restore(ctx, j, at))
		}
	}
	if at.Newest == nil || at.Newest.Of == "" || at.Saved == at.Published {
		return nil
	}
	saves := &checkpoints{job: j}                // the ref of the session that made it may go sooner
	return saves.updatePrivateRef(ctx, at.Saved) //control:part-is-held
}

// restore is the repair step of rebuild. It checks every file of the commits, because a
// power failure may have truncated one.
func (e *Engine) restore(ctx context.Context, j Job, at *session.State) error {
	last, lost, err := e.lastHere(ctx, j, at)
	if err != nil {
		return err
	}
	mended, err := j.Repo.Mend(ctx, at.Saved)
	if err != nil || mended[at.Saved] && !lost {
		return err
	}
	cp := session.Checkpoint{Commit: last, Parent: last, Parked: !lost}
	var content []session.Stored
	if at.Newest != nil {
		cp.Branch = at.Newest.Branch
		if content, err = e.unseal(ctx, j, at.Newest); err != nil {
			return err
		}
	}
	m := at.TakingIn()
	events := []*session.Event{}
	switch {
	case lost:
		if files, err := wholeChanges(ctx, j.Repo, at.Base, last); err == nil && at.Base == at.Task.Base {
			cp.Whole = files
		}
		events = append(
			events,
			lostNote(
				"The checkpoints after "+last[:min(10, len(last))]+" are gone: this machine lost them, and the repository on GitHub does not have them.",
			),
		)
	case at.Saved == at.Published:
		return nil // it is on the branch and was fetched
	case len(content) == 0 && m != nil: // the merge is repeated
		events = append(
			events,
			session.NewEvent(
				session.TypeMessage,
				at.Turns,
				session.Message{TakeBack: &session.TakeBack{Do: session.Rebase, Branch: m.Branch}},
			),
		)
	case len(content) == 0:
		events = append(
			events,
			lostNote(
				"The changes since the last checkpoint are gone: the session moved to another machine, or this one lost them.",
			),
		)
	default:
		saves := &checkpoints{job: j, secrets: e.cfg.Secrets}
		meta := saves.meta("Saved state", 0)
		meta.Merges = m.Second()
		c, err := j.Repo.Checkpoint(ctx, gitops.Checkpoint{Parent: at.Published, Changes: storedChanges(content), Meta: meta})
		if err != nil {
			return fmt.Errorf("rebuild saved state: %w", err)
		}
		if err := saves.updatePrivateRef(ctx, c.ID); err != nil {
			return err
		}
		cp.Commit, cp.Tree, cp.Files, cp.Content = c.ID, c.Tree, fileChanges(c.Files), at.Newest.Content
		cp.Of = at.Newest.Of
		if m != nil {
			cp.Merge, cp.Files = m, at.Newest.Files
		}
	}
	events = append(events, session.NewEvent(session.TypeCheckpoint, 0, cp))
	if err := j.Log.Append(ctx, events...); err != nil {
		return fmt.Errorf("record rebuilt state: %w", err)
	}
	for _, ev := range events {
		if err := at.Apply(*ev); err != nil {
			return err
		}
	}
	return nil
}

func lostNote(what string) *session.Event {
	return session.NewEvent(session.TypeNote, 0, session.Note{Kind: session.NoteReverted,
		Text: what + " Look at the files again and make those changes once more."})
}

// lastHere returns the last published state that is present or can be fetched. lost is
// true if the log ends with a newer one.
func (e *Engine) lastHere(ctx context.Context, j Job, at *session.State) (commit string, lost bool, err error) {
	list := []string{at.Published}
	for _, c := range slices.Backward(at.Checkpoints) {
		list = append(list, c.Commit)
	}
	for i, c := range append(list, at.Task.Base) {
		whole, err := j.Repo.Mend(ctx, c)
		if err == nil && !whole[c] && j.Push != nil { //control:lost-commit-fetched
			if j.Repo.Fetch(ctx, c) == nil { // the fetch fails if no branch has it any more
				whole, err = j.Repo.Mend(ctx, c)
			}
		}
		if err != nil {
			return "", false, err
		}
		if whole[c] || c == "" {
			return c, i > 0 && c != at.Published, nil
		}
	}
	return "", false, fmt.Errorf(
		"restore %s: neither its checkpoints nor the commit that it began from are here whole, or on the remote (`git fsck` tells what a clone lacks): start the work again",
		at.Task.Session,
	)
}

// unseal returns the files kept in a log. It returns nil if this machine lacks the
// key, or a commit on which they depend.
func (e *Engine) unseal(ctx context.Context, j Job, cp *session.Checkpoint) ([]session.Stored, error) {
	if second := cp.Merge.Second(); second != "" {
		if _, err := j.Repo.Resolve(ctx, second); err != nil {
			return nil, ctx.Err()
		}
	}
	out := slices.Clone(cp.Content)
	for i, s := range out {
		if s.Sealed == "" {
			continue
		}
		data, err := e.cfg.Secrets.Contents.Open(s.Data, cmp.Or(cp.Of, j.Task.Session)+" "+s.Path)
		if errors.Is(err, secret.ErrSealed) {
			e.cfg.Log.WarnContext(
				ctx, "the log keeps files that this server's key does not open: the session goes on from its last commit",
				"session", j.Task.Session, "path", s.Path, "key", s.Sealed,
			)
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("open saved %s: %w", s.Path, err)
		}
		out[i].Data = data
	}
	return out, nil
}

// Unseal returns a readable copy of a log, with the files that the key opens
// decrypted. The hashes remain those of the stored log.
func Unseal(key *secret.Key, events []session.Event) []session.Event {
	out := slices.Clone(events)
	id := ""
	for i, e := range out {
		if opened, err := session.Decode[session.Opened](e); e.Type == session.TypeOpened && err == nil {
			id = opened.Task.Session
		}
		if up, err := session.Decode[session.Update](e); e.Type == session.TypeState && err == nil && len(up.Neighbors) > 0 {
			for _, n := range up.Neighbors {
				unsealContent(key, n.Content, id)
			}
			out[i].Data = session.NewEvent(e.Type, e.Turn, up).Data
		}
		cp, err := session.Decode[session.Checkpoint](e)
		if e.Type != session.TypeCheckpoint || err != nil {
			continue
		}
		unsealContent(key, cp.Content, cmp.Or(cp.Of, id))
		out[i].Data = session.NewEvent(e.Type, e.Turn, cp).Data
	}
	return out
}

// unsealContent decrypts the files that the key opens. id is the session that sealed them.
func unsealContent(key *secret.Key, list []session.Stored, id string) {
	for i, s := range list {
		if data, err := key.Open(s.Data, id+" "+s.Path); s.Sealed != "" && err == nil {
			list[i].Data, list[i].Sealed = data, ""
		}
	}
}

func storedChanges(list []session.Stored) []gitops.Change {
	out := make([]gitops.Change, 0, len(list))
	for _, s := range list {
		out = append(out, gitops.Change{
			Path: s.Path, Delete: s.Mode == "", Exec: s.Mode == "100755", Symlink: s.Mode == "120000",
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.Data)), nil },
		})
	}
	return out
}
