package bot

import (
	"context"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// status answers where the work stands.
func status(ctx context.Context, r *request) error {
	if r.sess == nil {
		r.reply(render.NoSession)
		return nil
	}
	v, err := r.view(ctx)
	if err != nil {
		return err
	}
	r.c.post(r.msg, render.Status(r.w.cfg.Now(), progressText(&r.w.at, r.sess, v)))
	return nil
}

// stop ends the session where it is.
func stop(ctx context.Context, r *request) error {
	if r.sess == nil {
		r.reply(render.NothingToStop)
		return nil
	}
	v, err := r.view(ctx)
	if err != nil {
		return err
	}
	if v.Over() {
		r.reply(render.NoneRuns(v.Phase))
		return nil
	}
	r.end(v, render.StoppedBy(r.msg.author.Login))
	r.w.halt = r.w.halt || r.w.running == r.sess.ID
	r.react("+1")
	return nil
}

// end withdraws what waits and ends the session, because a person said so.
func (r *request) end(v *session.State, reason string) {
	r.withdraw(v)
	out := session.Outcome{Status: session.StatusStopped, Turns: v.Turns, Files: v.Files, Reason: reason}
	r.c.append(session.NewEvent(session.TypeEnded, v.Turns, session.Ended{Outcome: out}))
}

// withdraw gives up what people were asked.
func (r *request) withdraw(v *session.State) {
	for _, a := range v.Open() {
		r.c.append(session.NewEvent(session.TypeResolved, v.Turns,
			session.Resolved{ID: a.ID, Verdict: policy.Withdrawn, By: r.msg.author.Login, Key: r.msg.key}))
	}
}

// takeBack takes checkpoints of the session back, brings them again, or keeps them.
// What waits for an answer is withdrawn: it is about a state that will not be there.
func takeBack(do session.TakeBackKind) func(context.Context, *request) error {
	return func(ctx context.Context, r *request) error {
		if r.sess == nil {
			r.reply(render.NoSession)
			return nil
		}
		v, err := r.viewWith(ctx)
		if err != nil {
			return err
		}
		if len(v.Checkpoints) == 0 {
			r.reply(render.NoCheckpoint)
			return nil
		}
		if do == session.Keep {
			r.reply(render.Kept(r.cmd.Paths))
		} else {
			r.withdraw(v)
			r.react("eyes")
		}
		r.c.append(session.NewEvent(session.TypeMessage, v.Turns, session.Message{
			Key: r.msg.key, Author: r.msg.author.Login, TakeBack: &session.TakeBack{Do: do, N: r.cmd.Count, Paths: r.cmd.Paths},
		}))
		return nil
	}
}

// resume goes on with the session: after a pause, a failure, or with more
// turns. One whose work is done has nothing to go on with.
func resume(ctx context.Context, r *request) error {
	if r.sess == nil {
		r.reply(render.NoSession)
		return nil
	}
	m := session.Message{Key: r.msg.key, Author: r.msg.author.Login, Text: r.said(), Budget: r.cmd.Count}
	v, err := r.viewWith(ctx)
	if err != nil {
		return err
	}
	if v.Finished() { //control:done-stays-done
		r.reply(render.NothingToResume(v.Phase))
		return nil
	}
	r.c.append(session.NewEvent(session.TypeMessage, v.Turns, m))
	r.react("eyes")
	return nil
}
