package bot

import (
	"context"
	"errors"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// config returns the repository's configuration for sessions of the thread. It reports
// false if it cannot be read; the user is told unless a retry can help.
func (r *request) config(ctx context.Context) (policy.Config, bool, error) {
	if r.w.cfg.Clone == nil {
		return live.DataOf(r.sess).Config, true, nil
	}
	cfg, err := r.w.cfg.Clone.Config(ctx, *r.at)
	if err != nil && !fault.Temporary(err) {
		r.reply(render.NoConfig(fault.InWords(err)))
		return cfg, false, nil
	}
	return cfg, err == nil, err
}

// model changes or shows the model of the thread's session.
func model(ctx context.Context, r *request) error {
	repo, ok, err := r.config(ctx)
	if !ok {
		return err
	}
	cfg := policy.Merge(r.w.cfg.Policy, repo)
	if r.sess == nil {
		with, err := cfg.Choose(policy.Choice{}, r.w.cfg.Model)
		if len(r.cmd.IDs) > 0 || err != nil {
			r.reply(render.NoSession)
			return nil
		}
		r.reply(render.WhichModel(with.Model, cfg.Models))
		return nil
	}
	v, err := r.viewWith(ctx)
	if err != nil {
		return err
	}
	if len(r.cmd.IDs) == 0 {
		r.reply(render.WhichModel(v.ModelName(), cfg.Models))
		return nil
	}
	name := r.cmd.IDs[0]
	var no *policy.NotAllowed
	switch {
	case errors.As(cfg.PermitsModel(name), &no): //control:model-allowed
		r.reply(render.ModelNotAllowed(name, v.ModelName(), no.Allowed))
	case name == v.ModelName():
		r.reply(render.SameModel(name))
	default:
		m := r.from()
		m.Model = name
		r.c.append(session.NewEvent(session.TypeMessage, v.Turns, m))
		r.reply(render.ModelIs(name, v.Over()))
	}
	return nil
}

// showConfig shows the configuration in force.
func showConfig(ctx context.Context, r *request) error {
	repo, ok, err := r.config(ctx)
	if !ok {
		return err
	}
	var v *session.State
	if r.sess != nil {
		if v, err = r.viewWith(ctx); err != nil {
			return err
		}
	}
	of := render.Layers{Server: r.w.cfg.Policy, Repository: repo, Model: r.w.cfg.Model}
	if r.w.cfg.Clone != nil {
		if of.Image, err = r.w.cfg.Clone.Image(ctx, *r.at, policy.Merge(of.Server, repo)); err != nil &&
			fault.Temporary(err) {
			return err
		}
	}
	r.c.post(r.msg, render.Config(of, v))
	return nil
}

// forget clears the context of the session.
func forget(r *request, v *session.State) {
	r.w.halt = r.w.halt || !v.Over() && r.w.running == r.sess.ID
	by := r.from()
	by.Place = r.msg.place()
	r.c.append(v.Forget(by, render.ClearedBy(r.msg.author.Login))...)
	r.reply(render.Cleared(len(v.Checkpoints) > 0, v.Branch))
}
