package ci

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// awaitsGreen reports whether checks that pass would end the draft of a session's pull
// request. It does so once: a draft that a user makes of it stays one.
func awaitsGreen(c *live.Config, s *store.Session) bool {
	data := live.DataOf(s)
	asked := c.InForce(data).PullRequest.Ready == policy.ReadyWhenGreen
	return asked && s.Pull != 0 && data.Pull.Draft.Ended != s.Pull //control:ready-once
}

// endDraft takes the pull request of a session that is done out of draft, if that is
// configured and all checks of its last commit have passed. It looks again later, in case that
// an event of GitHub's is lost.
func endDraft(ctx context.Context, c *live.Config, l *live.Session) error {
	v := l.State
	if !awaitsGreen(c, l.Row) || !v.Finished() || v.Published == "" || len(v.Open()) > 0 {
		return nil
	}
	at := l.Thread.Ref
	at.Number = l.Row.Pull
	p, err := l.Thread.Client.GetPull(ctx, at)
	if err != nil {
		return store.Unless(err, ghapp.ErrNotFound)
	}
	if p.State != "open" || !strings.EqualFold(p.HeadSHA, v.Published) { //control:ready-of-own-work
		return nil
	}
	key := fmt.Sprintf("ready-%s-%s", l.Row.ID, p.HeadSHA)
	_, err = c.Store.Effects.Effect(ctx, key)
	begun := err == nil // its answer was lost, and the review is still to be requested
	if store.Unless(err, store.ErrNotFound) != nil {
		return err
	}
	if !p.Draft && !begun {
		return l.PullRequest().EndDraft(ctx)
	}
	is, err := reads.StandingOf(ctx, l.Thread.Client, p.HeadSHA)
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent { // an App without the permission to read them
		return nil
	}
	if err != nil {
		return err
	}
	if wait := waitOf(is, c.Now(), l.Settle); wait > 0 {
		return lookLater(ctx, c, l, p.HeadSHA, wait)
	}
	err = l.PullRequest().Ready(ctx, key, p.HeadSHA)
	var no *ghapp.Refusal
	if !errors.As(err, &no) {
		return err
	}
	now, err := l.Thread.Client.GetPull(ctx, at)
	if err != nil || now.HeadSHA != p.HeadSHA { // pushed to in between
		return err
	}
	if err := l.Try(ctx, ghapp.Write{
		Key:    key + "-refused",
		Kind:   ghapp.WriteComment,
		Thread: at,
		Body:   render.StaysADraft(at.Number, no.Reason),
	}); err != nil {
		return err
	}
	return l.PullRequest().EndDraft(ctx)
}

// pause is the time between two looks at checks that do not pass yet. GitHub tells of most
// changes before it is over. A workflow run does not stay for that long.
const pause = 10 * time.Minute

// waitOf returns the time until the next look at checks, or 0 if they have passed. A moment
// after the last one others may begin.
func waitOf(is reads.Standing, now time.Time, moment time.Duration) time.Duration {
	if len(is.Running)+len(is.Failed) > 0 || len(is.Passed) == 0 { //control:ready-when-green
		return pause
	}
	return max(0, is.Changed.Add(moment).Sub(now)) //control:ready-after-the-last
}

// lookLater has the checks of a commit looked at again after a while, unless that went on
// for the longest time to wait for checks.
func lookLater(ctx context.Context, c *live.Config, l *live.Session, head string, wait time.Duration) error {
	draft, now := &l.Data.Pull.Draft, c.Now()
	if draft.Head != head {
		draft.Head, draft.Since = head, now
		if err := l.Save(ctx); err != nil {
			return err
		}
	}
	if now.Sub(draft.Since) >= Longest(c.InForce(l.Data).CIFix) {
		return nil
	}
	return l.Wake(ctx, now.Add(wait))
}
