package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// tidy ends the pull requests of requests that are settled: it says what
// became of the edit, closes the pull request, and deletes its branch. The bot
// never merges one. Each step is an effect that is recorded before it is
// tried, so it happens once, whatever is cut off in between.
func (w *worker) tidy(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) error {
	events, err := w.cfg.Store.Logs.Log(store.Fence{Key: sess.ID}).Events(ctx, 0)
	if err != nil {
		return fmt.Errorf("read log of %s: %w", sess.ID, err)
	}
	for _, e := range ends(events, settled(v)) {
		if recordOf(sess).Reviews[e.Asked.ID].Tidy {
			continue
		}
		if err := w.end(ctx, f, sess, e); err != nil {
			return err
		}
	}
	return w.dropUnused(ctx, f, sess, v)
}

// dropUnused deletes the session's branch when a session is over that put
// nothing on it: it was made for a pull request to go to. One that anybody
// pushed to stays.
func (w *worker) dropUnused(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) error {
	if !settled(v) || len(v.Checkpoints) > 0 || w.at.Pull != nil {
		return nil
	}
	for _, is := range recordOf(sess).Reviews {
		if !is.Posted || !is.Tidy {
			continue
		}
		key := fmt.Sprintf("unused-%s-%d", sess.ID, v.Seq)
		_, err := w.ensure(ctx, f, ghapp.Write{Key: key, Kind: ghapp.WriteBranchGone, Branch: v.Branch, Commit: v.Task.Base})
		return unlessRefused(err)
	}
	return nil
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
func (w *worker) end(ctx context.Context, f store.Fence, sess *store.Session, e render.ReviewEnd) error {
	a, is := e.Asked, recordOf(sess).Reviews[e.Asked.ID]
	p, ok, err := w.at.Client.FindPull(ctx, a.Review.Branch)
	if err != nil {
		return err
	}
	if ok {
		p, err = w.small(ctx, p.Ref, a)
		if ok = err == nil; err != nil && !errors.Is(err, ghapp.ErrNotFound) {
			return err
		}
	}
	key := "end-" + sess.ID + "-" + a.ID
	var list []ghapp.Write
	if ok {
		e.Merged, e.Moved = p.Merged, p.HeadSHA != a.Review.Commit
		list = append(list, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Thread: p.Ref, Body: e.Text(w.ref.Number, func(sha string) string {
			return w.at.Repo.URL + "/commit/" + sha
		})})
		if !p.Merged {
			list = append(list, ghapp.Write{Key: key + "-close", Kind: ghapp.WriteClosePull, Thread: p.Ref})
		}
	}
	list = append(list, ghapp.Write{Key: key + "-branch", Kind: ghapp.WriteBranchGone, Branch: a.Review.Branch, Commit: a.Review.Commit})
	for _, wr := range list {
		if _, err := w.ensure(ctx, f, wr); unlessRefused(err) != nil {
			return err
		}
	}
	is.Tidy = true
	return w.remember(ctx, f, sess, reviewedAs{a.ID, is})
}
