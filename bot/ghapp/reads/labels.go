package reads

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

const labelPages = 10

// Labels returns the names of the repository's labels, at most 1,000.
func Labels(ctx context.Context, c *ghapp.Client) (names []string, err error) {
	for next, n := 1, 0; next > 0 && n < labelPages; n++ {
		var got []struct{ Name string }
		next, err = page(
			ctx,
			c,
			ghapp.Ask{Op: "list labels", Path: fmt.Sprintf("labels?per_page=%d&page=%d", pageSize, next)},
			&got,
		)
		if err != nil {
			return nil, err
		}
		for _, l := range got {
			names = append(names, l.Name)
		}
	}
	return names, nil
}
