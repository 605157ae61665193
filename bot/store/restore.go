package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// Restore creates the missing row of a session after the import of its log. A session of
// the command line, which has no thread, gets none. The bot does not resume the session
// by itself.
func Restore(ctx context.Context, s Store, id string) error {
	events, err := s.Logs.Log(Fence{Key: id}).Events(ctx, 0)
	if err != nil {
		return fmt.Errorf("restore session %s: %w", id, err)
	}
	st, err := session.Fold(events)
	if err != nil || st.Task.Thread == "" {
		return err
	}
	repo, _, _ := strings.Cut(st.Task.Thread, "#")
	row := &Session{
		ID: id, Thread: st.Task.Thread, Repo: repo, Requester: st.Task.Requester, Mode: st.Task.Mode, Model: st.Task.Model,
		Branch: st.Branch, Base: st.Task.Base, State: st.Phase,
	}
	if st.Outcome != nil {
		row.Status = st.Outcome.Status
	}
	if err := s.Sessions.Create(ctx, row); !errors.Is(err, ErrExists) {
		return err
	}
	return nil
}
