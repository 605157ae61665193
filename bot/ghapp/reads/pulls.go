package reads

import (
	"context"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// QuietPulls returns the numbers of open pull requests without activity since a time,
// least recently active first, at most 100.
func QuietPulls(ctx context.Context, c *ghapp.Client, since time.Time) (numbers []int, err error) {
	var list []struct {
		Number  int
		Updated time.Time `json:"updated_at"`
	}
	if _, err := page(ctx, c, ghapp.Ask{Op: "list pull requests", Path: fmt.Sprintf("pulls?state=open&sort=updated&direction=asc&per_page=%d", pageSize)}, &list); err != nil {
		return nil, err
	}
	for _, p := range list {
		if p.Updated.Before(since) {
			numbers = append(numbers, p.Number)
		}
	}
	return numbers, nil
}
