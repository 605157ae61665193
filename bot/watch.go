package bot

import (
	"context"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// listener reads the deliveries of a thread while its session runs, under the lease of the
// session.
type listener struct {
	w     *worker
	fence store.Fence
}

// watch ends a run at once on a stop, even if other deliveries wait before it, and when
// the App is removed from the repository; the deliveries are then handled in order. Other
// texts wait for the inbox, but get a reaction at once.
func (l listener) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	var more <-chan struct{}
	if l.w.cfg.More != nil {
		more = l.w.cfg.More(l.w.key)
	}
	tick := time.NewTicker(l.w.cfg.Every) // another server may have received the delivery
	defer tick.Stop()
	for refused, heard := int64(0), int64(0); ; {
		var stop bool
		if stop, refused = l.stopWaits(ctx, refused); stop {
			cancel(errStopped)
			return
		}
		if _, taken := l.w.removed.Load(strings.ToLower(l.w.at.Ref.Repository())); taken {
			cancel(errRemoved)
			return
		}
		heard = l.hear(ctx, heard)
		select {
		case <-ctx.Done():
			return
		case <-more:
		case <-tick.C:
		}
	}
}

// stopWaits reports whether a valid stop is among the deliveries after a number, and the
// number up to which there is certainly none.
func (l listener) stopWaits(ctx context.Context, after int64) (stop bool, refused int64) {
	list, err := l.w.cfg.Store.Wakes.Urgent(ctx, l.w.key, store.PriorityStop, after)
	if err != nil {
		return false, after
	}
	for _, d := range list {
		stop, err := l.isStop(ctx, d)
		if err != nil {
			return false, after
		}
		if stop {
			return true, after
		}
		after = d.Seq
	}
	return false, after
}

// isStop reports whether a delivery is a stop by an author with the right to it. An error
// means that this is unknown.
func (l listener) isStop(ctx context.Context, d *store.Delivery) (bool, error) {
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil {
		return false, nil //nolint:nilerr // it is told when its turn comes
	}
	s, ok := textOf(ev)
	if !ok {
		return false, nil
	}
	right, ok := l.w.stopIn(ctx, s.body)
	if !ok {
		return false, nil
	}
	sess, err := l.w.cfg.Store.Sessions.ByThread(ctx, l.w.key)
	if err != nil {
		return false, err
	}
	if why, err := l.w.notFromUser(ctx, s); err != nil || why != "" || l.w.unlistedBot(s.author) {
		return false, err
	}
	actor, err := l.w.at.Client.Sender(ctx, s.author.Login)
	if err != nil { // the requester of the session need not be looked up
		if v, _ := l.w.mayAsk(s.unverified(), right, sess); v == policy.Allow {
			return true, nil
		}
		return false, err
	}
	if actor.ID != s.author.ID {
		return false, nil
	}
	v, _ := l.w.mayAsk(actor, right, sess)
	return v == policy.Allow, nil
}

// hear answers deliveries after a number at once while a session runs, and returns the
// number of the last one. It is a courtesy: a failed answer is made when the delivery is
// handled.
func (l listener) hear(ctx context.Context, after int64) int64 {
	list, err := l.w.cfg.Store.Wakes.Urgent(ctx, l.w.key, store.PriorityWork, after)
	if err != nil {
		return after
	}
	for _, d := range list {
		after = d.Seq
		if err := l.hearOne(ctx, d); err != nil && ctx.Err() == nil {
			l.w.cfg.Log.InfoContext(ctx, "not answered at once", "thread", l.w.key, "delivery", d.ID, "err", err)
		}
	}
	return after
}

// hearOne answers a query, such as for the status or for help, ends the running step, and adds the
// reaction to a follow-up. Both have the keys of the regular handling, so that nothing is posted twice.
func (l listener) hearOne(ctx context.Context, d *store.Delivery) error {
	l.w.answering.Lock()
	defer l.w.answering.Unlock()
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil {
		return err
	}
	s, ok := textOf(ev)
	if !ok || l.w.unlistedBot(s.author) {
		return nil
	}
	s = s.broughtBy(d, l.w.at.Ref)
	cmds, wrong, err := l.w.commandsIn(ctx, s.body)
	if err != nil || wrong != nil || len(cmds) != 1 {
		return err
	}
	row, err := rowOf(l.w.rows, cmds[0])
	if err != nil || row.right != policy.View && row.Name != command.Task && row.Name != skipWord { //control:answered-at-once
		return err
	}
	r := &request{w: l.w, at: &l.w.at, c: l.w.change(), msg: s, cmd: cmds[0]}
	if may, err := l.mayBeHeard(ctx, r, d); err != nil || !may {
		return err
	}
	if r.cmd.Name == command.Task {
		r.react("eyes") //control:heard-at-once
	} else if err := row.handle(ctx, r); err != nil {
		return err
	}
	r.c.intendReply()
	e := l.w.outbox(l.fence)
	for _, in := range r.c.Intents {
		in.Session = l.fence.Key
		if err := e.Store.Intend(ctx, l.fence, in); err != nil {
			return err
		}
		if _, err := e.Perform(ctx, *in); ghapp.UnlessRefused(err) != nil {
			return err
		}
	}
	return nil
}

// mayBeHeard reports whether the author of a request may make it now, and counts the
// request.
func (l listener) mayBeHeard(ctx context.Context, r *request, d *store.Delivery) (bool, error) {
	row, err := rowOf(l.w.rows, r.cmd)
	if err != nil {
		return false, err
	}
	if why, err := l.w.notFromUser(ctx, r.msg); err != nil || why != "" {
		return false, err
	}
	if r.actor, err = l.w.at.Client.Sender(ctx, r.msg.author.Login); err != nil || r.actor.ID != r.msg.author.ID ||
		!policy.Insider(r.actor) {
		return false, err
	}
	if r.sess, err = l.w.cfg.Store.Sessions.ByThread(ctx, l.w.key); err != nil {
		return false, err
	}
	a := Asker{
		Sender:       r.msg.author.Login,
		Thread:       l.w.key,
		Repository:   l.w.at.Ref.Repository(),
		Installation: r.msg.ev.Installation,
	}
	if v, _ := l.w.mayAsk(r.actor, row.needs(r.cmd), r.sess); v != policy.Allow {
		return false, nil
	}
	if l.w.cfg.Quotas != nil {
		if l.w.cfg.Quotas.Wait(l.w.cfg.Now(), a) > 0 {
			return false, nil
		}
		l.w.cfg.Quotas.Take(l.w.cfg.Now(), a)
		l.w.answeredEarly[d.ID] = true
	}
	return true, nil
}

// stopIn finds a command in a text that ends a run at once, and returns the
// right that it needs.
func (b *Bot) stopIn(ctx context.Context, body string) (right policy.Request, ok bool) {
	cmds, wrong, err := b.commandsIn(ctx, body)
	if err != nil || wrong != nil {
		return policy.NoRequest, false
	}
	for _, c := range cmds[:min(len(cmds), maxCommands)] {
		if row, err := rowOf(b.rows, c); err == nil && row.priority == store.PriorityStop {
			return row.needs(c), true
		}
	}
	return policy.NoRequest, false
}
