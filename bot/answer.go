package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// settle takes an answer to a request.
func (w *worker) settle(ctx context.Context, c *change, s said, cmd command.Command, actor policy.Actor) error {
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if sess == nil {
		w.reply(c, s, "Nothing waits for approval in this thread.")
		return nil
	}
	v, err := w.view(ctx, sess)
	if err != nil {
		return err
	}
	asked, ok, err := w.answerable(ctx, sess, v.Open, cmd)
	if err != nil {
		return err
	}
	if !ok {
		w.reply(c, s, fmt.Sprintf("No request with the id `%s` is open here.%s", cmd.ID, openIDs(v.Open)))
		return nil
	}
	if verdict, why, err := w.mayApprove(ctx, sess, actor, asked); err != nil {
		return err
	} else if verdict != policy.Allow {
		w.reply(c, s, "This answer does not count: "+why+".")
		return nil
	}
	res := session.Resolved{ID: asked.ID, Verdict: "approved", By: actor.Login, ByID: actor.ID, Key: s.source()}
	sign := "+1"
	if cmd.Name == "deny" {
		res.Verdict, res.Reason, sign = "denied", clean(cmd.Text), "-1"
	} else if !asked.Deadline.IsZero() && w.cfg.Now().After(asked.Deadline) {
		res.Verdict, sign = "expired", "confused"
	}
	c.Events = append(c.Events, session.NewEvent(session.TypeResolved, v.Turns, res))
	w.react(c, s, sign)
	return nil
}

// answerable finds the request that a command answers: one that is open, or,
// for a denial, one that was approved and is not used yet. One denial wins.
func (w *worker) answerable(ctx context.Context, sess *store.Session, open []session.Asked, cmd command.Command) (session.Asked, bool, error) {
	if asked, ok := find(open, cmd.ID); ok || cmd.Name != "deny" {
		return asked, ok, nil
	}
	events, err := w.cfg.Store.Logs.Log(store.Fence{Key: sess.ID}).Events(ctx, 0)
	if err != nil {
		return session.Asked{}, false, fmt.Errorf("read log of %s: %w", sess.ID, err)
	}
	for _, g := range unused(events) {
		if g.asked.ID == cmd.ID {
			return g.asked, true, nil
		}
	}
	return session.Asked{}, false, nil
}

func find(open []session.Asked, id string) (session.Asked, bool) {
	for _, a := range open {
		if a.ID == id && a.Kind != "question" {
			return a, true
		}
	}
	return session.Asked{}, false
}

func openIDs(open []session.Asked) string {
	var ids []string
	for _, a := range open {
		ids = append(ids, "`"+a.ID+"`")
	}
	if len(ids) == 0 {
		return " Nothing waits for approval."
	}
	return " Open: " + strings.Join(ids, ", ") + "."
}

// source names where an answer came from, so that it can be looked at again.
func (s said) source() string {
	if s.target.Comment == 0 {
		return s.key
	}
	kind := "comment"
	if s.target.Diff {
		kind = "diff"
	}
	return fmt.Sprintf("%s:%d:%s", kind, s.target.Comment, s.ev.Comment.Updated.UTC().Format(time.RFC3339))
}

// recheck looks again at answers that were given and not used yet, right
// before the session goes on: does the person still have the right, does the
// comment still say what it said? What does not hold any more is withdrawn
// and asked again. GitHub not answering stops everything.
func (w *worker) recheck(ctx context.Context, sess *store.Session, f store.Fence) error {
	log := w.cfg.Store.Logs.Log(f)
	events, err := log.Events(ctx, 0)
	if err != nil {
		return err
	}
	var stale []*session.Event
	for _, g := range unused(events) {
		why, err := w.doubt(ctx, sess, g)
		if err != nil {
			return fmt.Errorf("check approval %s again: %w", g.asked.ID, err)
		}
		if why != "" {
			stale = append(stale, session.NewEvent(session.TypeResolved, events[len(events)-1].Turn,
				session.Resolved{ID: g.asked.ID, Verdict: "stale", Reason: why}))
		}
	}
	if len(stale) == 0 {
		return nil
	}
	return log.Append(ctx, stale...)
}

// given is an approval and what it is for.
type given struct {
	asked session.Asked
	by    session.Resolved
}

// unused returns the approvals whose action has not begun, in the order in
// which they were asked for.
func unused(events []session.Event) []given {
	p := pending{asked: map[string]session.Asked{}, open: map[string]session.Resolved{}}
	for _, e := range events {
		p.take(e)
	}
	var out []given
	for _, id := range p.order {
		if r, ok := p.open[p.asked[id].Call]; ok && r.ID == id {
			out = append(out, given{p.asked[id], r})
		}
	}
	return out
}

// pending follows which approvals are given and not used.
type pending struct {
	order []string
	asked map[string]session.Asked    // by request
	open  map[string]session.Resolved // by call
}

func (p *pending) take(e session.Event) {
	switch e.Type {
	case session.TypeAsked:
		if a, err := session.Decode[session.Asked](e); err == nil {
			p.order, p.asked[a.ID] = append(p.order, a.ID), a
		}
	case session.TypeResolved:
		p.resolved(e)
	case session.TypeStarted:
		if s, err := session.Decode[session.Started](e); err == nil {
			delete(p.open, s.Call)
		}
	case session.TypeResult:
		if s, err := session.Decode[session.Result](e); err == nil {
			delete(p.open, s.Call)
		}
	case session.TypeCheckpoint:
		p.published(e)
	}
}

func (p *pending) resolved(e session.Event) {
	r, err := session.Decode[session.Resolved](e)
	if err != nil {
		return
	}
	call := p.asked[r.ID].Call
	delete(p.open, call)
	if r.Verdict == "approved" {
		p.open[call] = r
	}
}

// published ends what was approved to go out: it is out.
func (p *pending) published(e session.Event) {
	c, err := session.Decode[session.Checkpoint](e)
	if err != nil || c.Parked {
		return
	}
	for call := range p.open {
		if strings.HasPrefix(call, "p") {
			delete(p.open, call)
		}
	}
}

// doubt says why an answer does not count any more, or "".
func (w *worker) doubt(ctx context.Context, sess *store.Session, g given) (string, error) {
	actor, err := w.actor(ctx, g.by.By)
	if err != nil {
		return "", err
	}
	if actor.Lookup == policy.Found && actor.ID != g.by.ByID {
		return "the account that approved is another one now", nil
	}
	if actor.ID == 0 {
		actor.ID = g.by.ByID
	}
	verdict, why, err := w.mayApprove(ctx, sess, actor, g.asked)
	if err != nil {
		return "", err
	}
	if verdict != policy.Allow {
		return "the approval does not count any more: " + why, nil
	}
	return w.edited(ctx, g.by.Key)
}

// edited says whether the comment that gave an answer is still as it was.
func (w *worker) edited(ctx context.Context, source string) (string, error) {
	var target ghapp.Target
	kind, rest, ok := strings.Cut(source, ":")
	if !ok || (kind != "comment" && kind != "diff") {
		return "", nil
	}
	id, at, _ := strings.Cut(rest, ":")
	if _, err := fmt.Sscan(id, &target.Comment); err != nil {
		return "", nil
	}
	target.Diff = kind == "diff"
	got, err := w.at.Client.GetComment(ctx, target)
	if errors.Is(err, ghapp.ErrNotFound) {
		return "the comment that approved was deleted", nil
	}
	if err != nil {
		return "", err
	}
	if got.Updated.UTC().Format(time.RFC3339) != at {
		return "the comment that approved was edited", nil
	}
	return "", nil
}

// expire ends requests whose deadline passed.
func expire(open []session.Asked, turn int, now time.Time) []*session.Event {
	var out []*session.Event
	for _, a := range open {
		if !a.Deadline.IsZero() && now.After(a.Deadline) {
			out = append(out, session.NewEvent(session.TypeResolved, turn, session.Resolved{ID: a.ID, Verdict: "expired"}))
		}
	}
	return out
}
