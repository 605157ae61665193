package reads

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

const labelPages = 10

// Label is a label of a repository.
type Label struct{ Name, Description string }

// Labels returns the repository's labels, at most 1,000.
func Labels(ctx context.Context, c *ghapp.Client) (list []Label, err error) {
	for next, n := 1, 0; next > 0 && n < labelPages; n++ {
		var got []Label
		next, err = page(
			ctx,
			c,
			ghapp.Ask{Op: "list labels", Path: fmt.Sprintf("labels?per_page=%d&page=%d", pageSize, next)},
			&got,
		)
		if err != nil {
			return nil, err
		}
		list = append(list, got...)
	}
	return list, nil
}
