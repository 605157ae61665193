package work

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
)

// mostStored is how much a half-done state may add to the log.
const mostStored = 1 << 20

// storedContent returns what a saved state has at the paths that differ from the
// branch, or nothing when that is too much for the log.
func storedContent(ctx context.Context, repo *gitops.Mirror, commit string, stats []gitops.FileStat) ([]session.Stored, error) {
	var out []session.Stored
	room := int64(mostStored)
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
			one.Data = data
		}
		out = append(out, one)
	}
	return out, nil
}

// rebuild makes the saved state of a session that another machine worked on. Only
// the log has it, because half-done states are never pushed. When the log has not
// enough, the session goes back to its last checkpoint on the branch, and the
// model is told.
func (e *Engine) rebuild(ctx context.Context, j Job, at *session.State) error {
	if at.Saved == at.Published {
		return nil
	}
	_, err := j.Repo.Resolve(ctx, at.Saved)
	if !errors.Is(err, gitops.ErrNotFound) {
		return err
	}
	cp := session.Checkpoint{Commit: at.Published, Parent: at.Published, Parked: true, Branch: at.Newest.Branch}
	events := []*session.Event{}
	if len(at.Newest.Content) == 0 {
		events = append(events, session.NewEvent(session.TypeNote, 0, session.Note{Kind: session.NoteReverted,
			Text: "The session moved to another machine, and the changes since the last checkpoint are gone. Look at the files again and make those changes once more."}))
	} else {
		saves := &checkpoints{job: j, redactor: e.cfg.Secrets.Redactor}
		c, err := j.Repo.Checkpoint(ctx, gitops.Checkpoint{Parent: at.Published, Changes: restored(at.Newest.Content), Meta: saves.meta("Saved state", 0)})
		if err != nil {
			return fmt.Errorf("rebuild saved state: %w", err)
		}
		if err := saves.updatePrivateRef(ctx, c.ID); err != nil {
			return err
		}
		cp.Commit, cp.Tree, cp.Files, cp.Content = c.ID, c.Tree, fileChanges(c.Files), at.Newest.Content
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

func restored(list []session.Stored) []gitops.Change {
	out := make([]gitops.Change, 0, len(list))
	for _, s := range list {
		out = append(out, gitops.Change{
			Path: s.Path, Delete: s.Mode == "", Exec: s.Mode == "100755", Symlink: s.Mode == "120000",
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.Data)), nil },
		})
	}
	return out
}
