package live

import (
	"context"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Thread is the thread of a session.
type Thread struct {
	Ref    thread.Ref
	Client *ghapp.Client
	Repo   ghapp.Repository
	Pull   *ghapp.Pull // nil for an issue
	Issue  ghapp.Issue // as of Connect

	Dashboard string // its public address; "" if there is none

	connected bool
}

// Reach creates the client for the repository. It sends no request if the installation
// is known.
func (t *Thread) Reach(ctx context.Context, app *ghapp.App, installation int64) (err error) {
	if t.Client == nil {
		t.Client, err = app.For(ctx, t.Ref, installation)
	}
	return err
}

// Connect reads the repository and the thread, once.
func (t *Thread) Connect(ctx context.Context, app *ghapp.App, installation int64) error {
	if t.connected {
		return nil
	}
	if err := t.Reach(ctx, app, installation); err != nil {
		return err
	}
	c := t.Client
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
	t.Repo, t.Pull, t.Issue, t.connected = repo, pull, issue, true
	return nil
}

// Renew reads the repository and the thread again.
func (t *Thread) Renew(ctx context.Context, app *ghapp.App, installation int64) error {
	t.connected = false
	return t.Connect(ctx, app, installation)
}

// Elsewhere returns the session's own thread if this one is the pull request of an
// approval request. There is no work in such a thread.
func (t *Thread) Elsewhere(ctx context.Context) (thread.Ref, bool, error) {
	if t.Pull == nil {
		return thread.Ref{}, false, nil
	}
	return approval.ReviewThread(ctx, t.Client, *t.Pull)
}

// commitURL returns the address of a commit's page.
func (t *Thread) commitURL(sha string) string { return t.Repo.URL + "/commit/" + sha }

// Closed reports whether the bot must not push to a branch: the default branch, or the
// protected branch of the thread's pull request.
func (t *Thread) Closed(ctx context.Context, standard, branch string) (bool, error) {
	if branch == standard {
		return true, nil
	}
	if branch != approval.OwnBranch(t.Pull) {
		return false, nil
	}
	return ghapp.Protected(ctx, t.Client, branch)
}
