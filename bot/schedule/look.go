package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
)

// subject is the subject of a schedule at the moment, in one repository.
type subject struct {
	Book
	Client       *ghapp.Client
	Now          time.Time
	Branch, Head string                                                      // the default branch and its newest commit
	Ensure       func(ctx context.Context, w ghapp.Write) (ghapp.Ref, error) // performs a write exactly once
}

// defaultDays is the number of days without activity after which a pull request is stale.
const defaultDays = 14

// about returns the subject of an entry, or why there is nothing to do.
func (l subject) about(ctx context.Context, e Entry, from string) (what, nothing string, err error) {
	switch e.Kind {
	case "review":
		if from == l.Head {
			return "", "nothing new on " + l.Branch, nil
		}
		return render.ReviewSince(l.Branch, from, l.Head), "", nil
	case "stale":
		days := cmp.Or(e.Days, defaultDays)
		numbers, err := reads.QuietPulls(ctx, l.Client, l.Now.Add(-time.Duration(days)*24*time.Hour))
		if err != nil || len(numbers) == 0 {
			return "", fmt.Sprintf("no pull request without activity for %d days", days), err
		}
		return render.ReviewStale(numbers, days), "", nil
	case "dependencies":
		return render.ReviewDependencies, "", nil
	}
	return "", "", nil
}

// issue returns the number of an entry's issue. A closed one stays closed until there is
// a new result; a deleted one is replaced.
func (l subject) issue(ctx context.Context, at thread.Ref, e Entry) (int, error) {
	for n := 1; ; n++ {
		key := fmt.Sprintf("schedule-%s-%d", ghapp.Digest(strings.ToLower(e.Repository), e.Name), n)
		made, err := l.Ensure(
			ctx,
			ghapp.Write{
				Key:   key,
				Kind:  ghapp.WriteIssue,
				Title: render.ScheduleTitle(e.Name),
				Body:  render.ScheduleBody(e.Name, ""),
			},
		)
		if err != nil {
			return 0, err
		}
		at.Number = made.Number
		if _, err = l.Client.Issue(ctx, at); !errors.Is(err, ghapp.ErrNotFound) {
			return made.Number, err
		}
	}
}
