package reads

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// RunEnded reports whether an attempt of a workflow run has ended: it is completed,
// there was another attempt since, or GitHub knows of none.
func RunEnded(ctx context.Context, c *ghapp.Client, id int64, attempt int) (bool, error) {
	var got struct {
		Status  string
		Attempt int `json:"run_attempt"`
	}
	_, err := page(ctx, c, ghapp.Ask{Op: "read workflow run", Path: fmt.Sprintf("actions/runs/%d", id)}, &got)
	var e *ghapp.Error
	if errors.As(err, &e) && e.Status == http.StatusNotFound {
		return true, nil
	}
	return got.Status == "completed" || got.Attempt > attempt, err
}

// Started is who started a workflow run, and when something last happened in it.
type Started struct {
	ID      int64 // of the account, 0 where there is no such run
	Updated time.Time
}

// StartedBy returns who started a workflow run.
func StartedBy(ctx context.Context, c *ghapp.Client, run int64) (Started, error) {
	var got struct {
		Actor   struct{ ID int64 }
		Updated time.Time `json:"updated_at"`
	}
	_, err := page(ctx, c, ghapp.Ask{Op: "read workflow run", Path: fmt.Sprintf("actions/runs/%d", run)}, &got)
	var e *ghapp.Error
	if errors.As(err, &e) && e.Status == http.StatusNotFound {
		err = nil
	}
	return Started{got.Actor.ID, got.Updated}, err
}
