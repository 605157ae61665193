package reads

import (
	"context"
	"errors"
	"fmt"
	"net/http"

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
