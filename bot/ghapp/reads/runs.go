package reads

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// RunEnded reports whether an attempt of a workflow run has ended: it is completed, a
// newer attempt exists, or GitHub does not know the run.
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

// Started is the starter of a workflow run and the time of the run's last update.
type Started struct {
	ID      int64 // id of the account; 0 if the run does not exist
	Updated time.Time
}

// StartedBy returns the starter of a workflow run.
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
