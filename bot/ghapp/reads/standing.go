package reads

import (
	"context"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// Standing is the state of a commit's checks by the newest run of each, as its page on GitHub
// shows them, without the bot's own and those that decide nothing.
type Standing struct {
	Passed, Running, Failed []string // their names

	Changed time.Time // end of the last run; zero if none has ended
}

// StandingOf reads the standing of a commit. A cancelled check, and one that waits for a
// person, count as failed.
func StandingOf(ctx context.Context, c *ghapp.Client, sha string) (s Standing, err error) {
	all, err := Checks(ctx, c, sha)
	for _, k := range all {
		if ghapp.IsOwn(c, k.AppID) {
			continue
		}
		if k.Completed.After(s.Changed) {
			s.Changed = k.Completed
		}
		switch {
		case k.Running():
			s.Running = append(s.Running, k.Name)
		case k.State == "success":
			s.Passed = append(s.Passed, k.Name)
		case k.State == "neutral", k.State == "skipped", k.State == unreadable:
		default:
			s.Failed = append(s.Failed, k.Name)
		}
	}
	return s, err
}
