package bot

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// ofSession makes the handler of a command on the current state of the thread's session.
func ofSession(handle func(r *request, v *session.State)) func(context.Context, *request) error {
	return func(ctx context.Context, r *request) error {
		if r.sess == nil {
			r.reply(render.NoSession)
			return nil
		}
		v, err := r.viewWith(ctx)
		if err == nil {
			handle(r, v)
		}
		return err
	}
}

// status replies with the progress of the session.
func status(r *request, v *session.State) {
	v.Phase = live.CurrentPhase(r.sess, v)
	r.c.post(r.msg, render.Status(r.w.cfg.Now(), live.ProgressText(&r.w.at, r.sess, v)))
}

// diff replies with the changes of the session: counts, a link, and the diff below.
func diff(ctx context.Context, r *request) error {
	if r.sess == nil {
		r.reply(render.NoSession)
		return nil
	}
	v, err := r.viewWith(ctx)
	if err != nil {
		return err
	}
	r.reply(render.Diff(v, r.w.at.Repo.URL+"/compare/"+v.Base+"..."+v.Published))
	if r.w.cfg.Clone == nil || len(v.Files) == 0 {
		return nil
	}
	text, err := r.w.cfg.Clone.Diff(ctx, *r.at, v.Base, v.Published)
	if fault.Temporary(err) {
		return err
	}
	parts := render.DiffParts(text)
	if parts[0].Text != "" {
		r.reply(parts[0].Text)
	}
	r.c.folds = parts[0].Folds
	for i, p := range parts[1:] {
		key := fmt.Sprintf("diff-%s-%d", ghapp.Digest(r.msg.key, "diff"), i)
		r.c.after = append(
			r.c.after,
			approval.InPlace(
				r.c.at,
				r.msg.place(),
				ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: p.Text, Folds: p.Folds},
			),
		)
	}
	return nil
}

// lastStop is a stop that found nothing to stop. GitHub does not order events, so the
// request that it was meant for may arrive later.
type lastStop struct {
	Place session.Place `json:"place"`
	By    string        `json:"by"`
}

func stopKey(thread string) string { return "stop " + thread }

func (r *request) stopOlder(ctx context.Context) error {
	data, err := json.Marshal(lastStop{r.msg.place(), r.msg.author.Login})
	if err != nil {
		return err
	}
	return r.w.cfg.Store.Meta.Set(ctx, stopKey(r.w.key), data)
}

// stopAuthor returns the author of a stop that was written after the request and arrived
// before it, or "".
func (r *request) stopAuthor(ctx context.Context) (string, error) {
	data, err := r.w.cfg.Store.Meta.Get(ctx, stopKey(r.w.key))
	if err != nil {
		return "", store.Unless(err, store.ErrNotFound)
	}
	var last lastStop
	if err := json.Unmarshal(data, &last); err != nil {
		return "", fmt.Errorf("read the last stop of %s: %w", r.w.key, err)
	}
	at, stop := r.msg.place(), last.Place
	sameKind := at.Comment != 0 && (at.DiffThread != 0) == (stop.DiffThread != 0)
	if at.At.Before(stop.At) || at.At.Equal(stop.At) && sameKind && at.Comment < stop.Comment { //control:stop-overtakes
		return last.By, nil
	}
	return "", nil
}

// stop ends the session in its current state.
func stop(ctx context.Context, r *request) error {
	if r.sess == nil {
		r.reply(render.NothingToStop + render.TaskHint(r.cmd.Name, r.cmd.Text))
		return r.stopOlder(ctx)
	}
	v, err := r.view(ctx)
	if err != nil {
		return err
	}
	if v.Over() && len(v.Open()) == 0 {
		r.reply(render.NoneRuns(v.Phase) + render.TaskHint(r.cmd.Name, r.cmd.Text))
		return r.stopOlder(ctx)
	}
	who := r.msg.author
	if r.cmd.Text != "" && who.ID == live.DataOf(r.sess).RequesterID { //control:reason-withdraws
		r.c.append(v.Withdraw(r.from(), render.WithdrawnBy(who.Login, r.cmd.Text, v))...)
	} else {
		r.end(v, render.StoppedBy(who.Login, r.cmd.Text, v))
	}
	r.w.halt = r.w.halt || r.w.running == r.sess.ID
	r.react("+1")
	return nil
}

// skip ends the running step of the session, which goes on. It is answered while the session runs;
// between the steps there is nothing to end.
func skip(_ context.Context, r *request) error {
	end := r.w.call.Load()
	if end == nil {
		r.reply(render.NothingToSkip)
		return nil
	}
	(*end)()
	r.reply(render.Skipped(r.msg.author.Login))
	return nil
}

// end ends the session at the user's request.
func (r *request) end(v *session.State, reason string) { r.c.append(v.Stop(r.from(), reason)...) }

// takeBack undoes, redoes or keeps checkpoints, or takes in the base branch.
func takeBack(r *request, v *session.State) {
	wish := session.TakeBack{
		Do:     session.TakeBackKind(r.cmd.Name),
		N:      r.cmd.Count,
		Paths:  r.cmd.Paths,
		Branch: live.DataOf(r.sess).Target,
	}
	switch {
	case len(v.Checkpoints) == 0:
		r.reply(render.NoCheckpoint)
		return
	case wish.Do == session.Keep:
		r.reply(render.Kept(wish.Paths))
	default:
		r.react("eyes")
	}
	by := r.from()
	if is, err := policy.ParseMode(v.ModeName()); err == nil && is.ReadOnly() && wish.Do != session.Keep {
		by.Mode = r.changingMode(v)
	}
	r.c.append(v.WithTakeBack(by, r.msg.place(), wish)...)
}

// changingMode returns a mode that may change files, as commands on checkpoints need it: the
// configured mode or code mode, if allowed, or "".
func (r *request) changingMode(v *session.State) string {
	cfg := r.w.live.InForce(live.DataOf(r.sess))
	for _, name := range []string{cfg.Mode, "code"} {
		m, err := policy.ParseMode(name)
		if err == nil && !m.ReadOnly() && cfg.Permits(policy.Choice{Mode: name, Model: v.ModelName()}) == nil {
			return name
		}
	}
	return ""
}

// from returns a message with the author and the source of the request.
func (r *request) from() session.Message {
	return session.Message{Key: r.msg.key, Author: r.msg.author.Login}
}

// resume continues the session: after a pause, a failure, or with more turns. The model gets the
// comments since its last request. A finished session cannot be resumed.
func resume(ctx context.Context, r *request) error {
	if r.sess == nil {
		r.reply(render.NoSession)
		return nil
	}
	v, err := r.viewWith(ctx)
	if err != nil {
		return err
	}
	if v.Finished() { //control:done-stays-done
		r.reply(render.NothingToResume(v.Standing()))
		return nil
	}
	m := r.from()
	m.Text, m.Budget, m.Place = r.commandText(), r.cmd.Count, r.msg.place()
	m.Context, err = r.news(ctx, v.ModelName(), m.Text, v) //control:resume-hears-the-thread
	if err != nil {
		return err
	}
	r.keepAllowed(v)
	r.c.append(session.NewEvent(session.TypeMessage, v.Turns, m))
	r.react("eyes")
	return nil
}
