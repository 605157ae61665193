package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// offer opens the pull request of a session that put something on its branch.
// When GitHub will not have it, the note says so.
func (w *worker) offer(ctx context.Context, f store.Fence, sess *store.Session, v *session.State) (note string, err error) {
	if sess.Pull != 0 || len(v.Checkpoints) == 0 || !v.Over() || v.Outcome.Status == session.StatusStopped {
		return "", nil
	}
	r := recordOf(sess)
	to, err := w.goal(ctx, r, v)
	if err != nil || to == "" {
		return "", err
	}
	cfg := w.config(r)
	issue, err := w.at.Client.Issue(ctx, w.ref)
	if err != nil {
		return "", err
	}
	wr := ghapp.Write{Key: "pull-" + sess.ID, Kind: ghapp.WritePull, Pull: &ghapp.PullSpec{
		Base: to, Head: v.Branch, Title: render.PullTitle(clean(issue.Title)),
		Body:  render.PullBody(v, sess.Requester, render.Origin{Number: w.ref.Number, Pull: w.at.Pull != nil}),
		Draft: cfg.PullRequest.Draft == nil || *cfg.PullRequest.Draft,
	}}
	ref, err := w.ensure(ctx, f, wr)
	var no *ghapp.Refusal
	if errors.As(err, &no) { // what stood in its way earlier may be gone, or the branch that it goes to
		if to, err = w.existing(ctx, to); err != nil {
			return "", err
		}
		if to != wr.Pull.Base {
			wr.Pull.Body = fmt.Sprintf("The branch `%s`, which this was made for, does not exist any more; this goes to `%s`.\n\n", wr.Pull.Base, to) + wr.Pull.Body
			wr.Pull.Base = to
		}
		wr.Key = fmt.Sprintf("pull-%s-%d", sess.ID, v.Seq)
		ref, err = w.ensure(ctx, f, wr)
	}
	if errors.As(err, &no) {
		return fmt.Sprintf("The work is on the branch `%s`. I could not open a pull request for it: %s", v.Branch, render.Clean(no.Reason)), nil
	}
	sess.Pull = ref.Number
	return "", err
}

// goal is the branch that the session's work is offered to, "" when it needs
// no pull request: it is on the branch of one that is open.
func (w *worker) goal(ctx context.Context, r record, v *session.State) (string, error) {
	if w.at.Pull == nil {
		return r.Target, nil
	}
	if v.Branch != v.Task.Branch { // beside the branch of this pull request
		return v.Task.Branch, nil
	}
	p, err := w.at.Client.GetPull(ctx, w.ref)
	if err != nil || p.State == "open" {
		return "", err
	}
	return p.Base, nil
}

// existing is branch, or the default branch when that one is gone.
func (w *worker) existing(ctx context.Context, branch string) (string, error) {
	_, err := w.at.Client.Head(ctx, branch)
	if !errors.Is(err, ghapp.ErrNotFound) {
		return branch, err
	}
	repo, err := w.at.Client.Repo(ctx)
	return repo.DefaultBranch, err //control:target-gone
}

// handOver puts work that is on no branch before people, as patches in the
// thread: of what may not be pushed, and of what could not be.
func (w *worker) handOver(ctx context.Context, f store.Fence, sess *store.Session, v *session.State) error {
	for _, s := range v.Sent {
		if s.Settled {
			continue
		}
		for i, body := range render.Patches(s.Patch) { //control:patch-in-the-thread
			key := fmt.Sprintf("patch-%s-%d-%d", sess.ID, s.Seq, i)
			_, err := w.ensure(ctx, f, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: body})
			if ghapp.UnlessRefused(err) != nil {
				return err
			}
		}
	}
	return nil
}
