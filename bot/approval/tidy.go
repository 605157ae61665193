package approval

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// Tidy ends the pull requests of requests that are settled: it says what
// became of the edit, closes the pull request, and deletes its branch. The bot
// never merges one. Each step is an effect that is recorded before it is
// tried, so it happens once, whatever is cut off in between.
func (r Requests) Tidy(ctx context.Context, events []session.Event, v *render.View) error {
	over := v.Outcome != nil && !v.Outcome.Status.Parked()
	posted := false
	for _, e := range ends(events, over) {
		if !r.Holder.Stage(e.Asked.ID).Tidy {
			if err := r.end(ctx, e); err != nil {
				return err
			}
		}
		posted = posted || r.Holder.Stage(e.Asked.ID).Posted
	}
	if !posted || !over || len(v.Checkpoints) > 0 || r.IsPull {
		return nil
	}
	return r.dropUnused(ctx, v)
}

// dropUnused deletes the session's branch when a session is over that put
// nothing on it: it was made for a pull request to go to. One that anybody
// pushed to stays.
func (r Requests) dropUnused(ctx context.Context, v *render.View) error {
	key := fmt.Sprintf("unused-%s-%d", r.ID, v.Seq)
	_, err := r.Holder.Ensure(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteBranchGone, Branch: v.Branch, Commit: v.Task.Base})
	return ghapp.UnlessRefused(err)
}

// ends returns what became of each request that was up for review and is not
// any more. An approval that is about to be used is not settled yet, unless
// the session is over.
func ends(events []session.Event, over bool) []render.ReviewEnd {
	var list []render.ReviewEnd
	var states []policy.Approval
	for _, e := range events {
		switch e.Type {
		case session.TypeAsked:
			if a, err := session.Decode[session.Asked](e); err == nil && a.Review != nil {
				list, states = append(list, render.ReviewEnd{Asked: a}), append(states, policy.OpenApproval(a.ID, a.Digest, a.Deadline))
			}
		case session.TypeResolved:
			r, err := session.Decode[session.Resolved](e)
			for i := range list {
				if word := policy.ApprovalState(r.Verdict); err == nil && list[i].Asked.ID == r.ID && states[i].Takes(word) {
					list[i].By, states[i] = r, states[i].Settle(word)
				}
			}
		case session.TypeCheckpoint:
			c, err := session.Decode[session.Checkpoint](e)
			for i := range list {
				if err == nil && !c.Parked && states[i].Stands() {
					list[i].Commit, states[i] = c.Commit, states[i].Finish()
				}
			}
		}
	}
	var out []render.ReviewEnd
	for i, e := range list {
		if !states[i].Waits() && (!states[i].Stands() || over) {
			out = append(out, e)
		}
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
		list = append(list, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Thread: p.Ref, Body: e.Text(r.Thread.Number, r.CommitURL)})
		if !p.Merged {
			list = append(list, ghapp.Write{Key: key + "-close", Kind: ghapp.WriteClosePull, Thread: p.Ref})
		}
	}
	list = append(list, ghapp.Write{Key: key + "-branch", Kind: ghapp.WriteBranchGone, Branch: a.Review.Branch, Commit: a.Review.Commit})
	for _, wr := range list {
		if _, err := r.Holder.Ensure(ctx, wr); ghapp.UnlessRefused(err) != nil {
			return err
		}
	}
	is.Tidy = true
	return r.Holder.SetStage(ctx, a.ID, is)
}
