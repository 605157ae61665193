package approval

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
)

// Tidy ends the pull requests of settled requests: it comments on the outcome, closes the
// pull request, and deletes its branch. The bot never merges one. Each step is an effect
// that is recorded before it is tried, so it happens once even if interrupted.
func (r Requests) Tidy(ctx context.Context, v *session.State) error {
	posted := false
	for _, e := range ends(v) {
		if !r.Holder.Stage(e.Asked.ID).Tidy {
			if err := r.end(ctx, e); err != nil {
				return err
			}
		}
		posted = posted || r.Holder.Stage(e.Asked.ID).Posted
	}
	if !posted || !v.Over() || len(v.Checkpoints) > 0 || r.IsPull {
		return nil
	}
	return r.dropUnused(ctx, v)
}

// dropUnused deletes the branch of a session that ended without putting commits on it:
// the branch was created as the target of a pull request. A branch with pushes of others
// stays.
func (r Requests) dropUnused(ctx context.Context, v *session.State) error {
	key := fmt.Sprintf("unused-%s-%d", r.ID, v.Seq)
	_, err := r.Holder.Ensure(
		ctx,
		ghapp.Write{Key: key, Kind: ghapp.WriteBranchGone, Branch: v.Branch, Commit: v.Task.Base},
	)
	return ghapp.UnlessRefused(err)
}

// ends returns the outcome of each request that is no longer under review. An approval
// that is still to be used is not settled, unless the session is over.
func ends(v *session.State) []render.ReviewEnd {
	var out []render.ReviewEnd
	for _, r := range v.Requests {
		if r.Review == nil || r.Approval.IsPending() || r.Approval.IsApproved() && !v.Over() {
			continue
		}
		out = append(out, render.ReviewEnd{Asked: r.Asked, By: *r.Answer, Commit: r.Commit})
	}
	return out
}

// end ends one pull request.
func (r Requests) end(ctx context.Context, e render.ReviewEnd) error {
	a, is := e.Asked, r.Holder.Stage(e.Asked.ID)
	p, ok, err := r.Client.FindPull(ctx, a.Review.Branch)
	if err != nil {
		return err
	}
	if ok {
		p, err = proposal{r.Session, a}.find(ctx, p.Ref)
		if ok = err == nil; err != nil && !errors.Is(err, ghapp.ErrNotFound) {
			return err
		}
	}
	key := "end-" + r.ID + "-" + a.ID
	var list []ghapp.Write
	if ok {
		e.Merged, e.Moved = p.Merged, p.HeadSHA != a.Review.Commit
		list = append(
			list,
			ghapp.Write{Key: key, Kind: ghapp.WriteComment, Thread: p.Ref, Body: e.Text(r.Thread.Number, r.CommitURL)},
		)
		if !p.Merged {
			list = append(list, ghapp.Write{Key: key + "-close", Kind: ghapp.WriteClosePull, Thread: p.Ref})
		}
	}
	list = append(
		list,
		ghapp.Write{Key: key + "-branch", Kind: ghapp.WriteBranchGone, Branch: a.Review.Branch, Commit: a.Review.Commit},
	)
	for _, wr := range list {
		if _, err := r.Holder.Ensure(ctx, wr); ghapp.UnlessRefused(err) != nil {
			return err
		}
	}
	is.Tidy = true
	return r.Holder.SetStage(ctx, a.ID, is)
}
