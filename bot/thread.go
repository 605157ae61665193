package bot

import (
	"context"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Thread is where a session belongs to.
type Thread struct {
	Ref    thread.Ref
	Client *ghapp.Client
	Repo   ghapp.Repository
	Pull   *ghapp.Pull // nil for an issue
}

// connect learns about the repository and what the thread is.
func (t *Thread) connect(ctx context.Context, app *ghapp.App, installation int64) error {
	if t.Client != nil {
		return nil
	}
	c, err := app.For(ctx, t.Ref, installation)
	if err != nil {
		return err
	}
	repo, err := c.Repo(ctx)
	if err != nil {
		return err
	}
	issue, err := c.Issue(ctx, t.Ref)
	if err != nil {
		return err
	}
	var pull *ghapp.Pull
	if issue.IsPull {
		p, err := c.GetPull(ctx, t.Ref)
		if err != nil {
			return err
		}
		pull = &p
	}
	t.Client, t.Repo, t.Pull = c, repo, pull
	return nil
}

// elsewhere returns the thread of the session when this one is only the pull
// request of one of its requests: there is nothing to be done in it.
func (t *Thread) elsewhere(ctx context.Context) (thread.Ref, bool, error) {
	if t.Pull == nil {
		return thread.Ref{}, false, nil
	}
	return approval.Of(ctx, t.Client, *t.Pull)
}

func (t *Thread) commitURL(sha string) string { return t.Repo.URL + "/commit/" + sha }
