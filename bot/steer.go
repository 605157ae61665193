package bot

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// status says where the work stands.
func status(ctx context.Context, r *request) error {
	if r.sess == nil {
		r.reply("There is no session in this thread yet. Write `/agent` and what you want.")
		return nil
	}
	v, err := r.view(ctx)
	if err != nil {
		return err
	}
	// This comment stays as it is, so it says of what time it speaks.
	at := r.w.cfg.Now().UTC().Format("2006-01-02 15:04 UTC")
	r.reply("How the session stood when you asked, at " + at + ". Its progress comment goes on to say how it stands.\n\n---\n\n" + progressText(&r.w.at, r.sess, v))
	return nil
}

// stop ends the session where it is.
func stop(ctx context.Context, r *request) error {
	if r.sess == nil {
		r.reply("There is nothing to stop.")
		return nil
	}
	v, err := r.view(ctx)
	if err != nil {
		return err
	}
	if v.Over() {
		r.reply(fmt.Sprintf("There is nothing to stop: the session is %s.", v.Phase))
		return nil
	}
	out := session.Outcome{
		Status: session.StatusStopped, Turns: v.Turns, Files: v.Files,
		Reason: "Stopped by " + r.said.ev.Sender.Login + ". What was done so far stays on the branch.",
	}
	r.c.append(ending(v, r.said, out)...)
	r.w.halt = r.w.halt || r.w.running == r.sess.ID
	r.react("+1")
	return nil
}

// ending withdraws what waits and ends a session for a person.
func ending(v *session.State, s said, out session.Outcome) []*session.Event {
	var events []*session.Event
	for _, a := range v.Open() {
		events = append(events, session.NewEvent(session.TypeResolved, v.Turns,
			session.Resolved{ID: a.ID, Verdict: policy.Withdrawn, By: s.ev.Sender.Login, Key: s.key}))
	}
	return append(events, session.NewEvent(session.TypeEnded, v.Turns, session.Ended{Outcome: out}))
}

// resume goes on with the session: after a pause, a failure, or with more
// turns.
func resume(ctx context.Context, r *request) error {
	if r.sess == nil {
		r.reply("There is no session in this thread yet. Write `/agent` and what you want.")
		return nil
	}
	m := session.Message{Key: r.said.key, Author: r.said.ev.Sender.Login, Text: clean(r.cmd.Text), Budget: r.cmd.Count}
	v, err := r.view(ctx)
	if err != nil {
		return err
	}
	r.c.append(session.NewEvent(session.TypeMessage, v.Turns, m))
	r.react("eyes")
	return nil
}
