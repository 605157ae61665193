package reads

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// Issue is an issue in a list.
type Issue struct {
	Number  int
	Title   string
	Body    string
	State   string // open or closed
	Labels  []string
	ByBot   bool
	Created time.Time
}

// Issues returns the issues of a state (open, closed or all) without pull requests, those
// with the newest activity first, from at most so many pages of a hundred.
func Issues(ctx context.Context, c *ghapp.Client, state string, pages int) (out []Issue, err error) {
	for next, n := 1, 0; next > 0 && n < pages; n++ {
		var got []struct {
			Number      int
			Title, Body string
			State       string
			Labels      []Label
			User        user
			Created     time.Time       `json:"created_at"`
			Pull        json.RawMessage `json:"pull_request"`
		}
		next, err = page(ctx, c, ghapp.Ask{
			Op: "list issues", Path: fmt.Sprintf("issues?state=%s&sort=updated&per_page=%d&page=%d", state, pageSize, next),
		}, &got)
		if err != nil {
			return nil, err
		}
		for _, g := range got {
			if g.Pull != nil {
				continue
			}
			is := Issue{
				Number:  g.Number,
				Title:   g.Title,
				Body:    g.Body,
				State:   g.State,
				ByBot:   g.User.Type == "Bot",
				Created: g.Created,
			}
			for _, l := range g.Labels {
				is.Labels = append(is.Labels, l.Name)
			}
			out = append(out, is)
		}
	}
	return out, nil
}
