package bot

import (
	"context"
	"errors"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// ready takes the session's pull request out of draft.
func ready(ctx context.Context, r *request) error {
	if r.sess == nil || r.sess.Pull == 0 {
		r.reply(render.NoDraft)
		return nil
	}
	at := r.w.at.Ref
	at.Number = r.sess.Pull
	p, err := r.w.at.Client.GetPull(ctx, at)
	if err != nil {
		return err
	}
	key := "ready-" + ghapp.Digest(r.msg.key)
	_, err = r.w.cfg.Store.Effects.Effect(ctx, key)
	begun := err == nil // before the server ended
	if store.Unless(err, store.ErrNotFound) != nil {
		return err
	}
	if p.State != "open" || !p.Draft && !begun {
		r.reply(render.NotADraft(at.Number, p.State))
		return nil
	}
	checks, err := reads.StandingOf(ctx, r.w.at.Client, p.HeadSHA)
	if err != nil && ghapp.KindOf(err) != ghapp.Permanent { // an App without the permission to read them
		return err
	}
	l, err := r.w.lease(ctx, r.sess)
	if err != nil {
		return err
	}
	var no *ghapp.Refusal
	err = l.PullRequest().Ready(ctx, key, p.HeadSHA)
	if errors.As(err, &no) {
		r.reply(render.StaysADraft(at.Number, no.Reason))
		return nil
	}
	if err != nil {
		return err
	}
	v, err := r.view(ctx) // the row may wait for GitHub, after the end
	if err != nil {
		return err
	}
	if text := render.ReadyAnyway(at.Number, checks.Failed, checks.Running, v.Over()); text != "" {
		r.reply(text)
		return nil
	}
	r.react("+1")
	return nil
}
