package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Rename moves the sessions of a repository, and their threads, to its new name. Sessions
// that are worked on are left for the next call, and make it return an error.
func Rename(ctx context.Context, st Store, from, to string) error {
	var failed []error
	for q := (Query{Repo: strings.ToLower(from), Limit: 200}); ; {
		list, err := st.Sessions.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list sessions of %s: %w", from, err)
		}
		for _, s := range list {
			_, number, _ := strings.Cut(s.Thread, "#")
			s.Repo = strings.ToLower(to)
			s.Thread = s.Repo + "#" + number //control:renamed-repository
			err := st.Sessions.Update(ctx, Fence{}, s)
			if err == nil {
				err = st.Wakes.Wake(ctx, s.Thread, PriorityIdle, time.Time{})
			}
			failed = append(failed, err)
		}
		if len(list) < q.Limit {
			return errors.Join(failed...)
		}
		q.Below = list[len(list)-1].Seq
	}
}
