package bot

import (
	"context"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

func (w *worker) progressText(v *session.State, sess *store.Session) string {
	return render.Progress(v, render.Links{
		Commit: w.commitURL,
		Pull:   sess.Pull,
		Review: func(id string) int { return recordOf(sess).Reviews[id].Pull },
	})
}

func progressKey(id string) string { return "progress-" + id }

// intendProgress plans the progress comment of a new session.
func (w *worker) intendProgress(c *change, sess *store.Session) {
	v := session.NewState()
	for _, e := range c.Events {
		if v.Apply(*e) != nil {
			return
		}
	}
	v.Phase = session.PhaseQueued
	w.intend(c, ghapp.Write{Key: progressKey(sess.ID), Kind: ghapp.WriteComment, Body: w.progressText(v, sess)})
}

// progress keeps the progress comment in step with the log. Edits are spaced;
// the last state always gets out, by flush.
type progress struct {
	w    *worker
	sess *store.Session
	id   int64 // of the comment

	mu    sync.Mutex
	view  *session.State
	fresh chan struct{}
	ended chan struct{}
	stop  context.CancelFunc
	last  string
}

// follow starts a progress comment that is edited while events come in.
func (w *worker) followProgress(ctx context.Context, f store.Fence, sess *store.Session, v *session.State) (*progress, error) {
	ref, err := w.ensure(ctx, f, ghapp.Write{Key: progressKey(sess.ID), Kind: ghapp.WriteComment, Body: w.progressText(v, sess)})
	if ghapp.UnlessRefused(err) != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &progress{w: w, sess: sess, id: ref.ID, view: v, fresh: make(chan struct{}, 1), ended: make(chan struct{}), stop: stop}
	go p.run(ctx)
	return p, nil
}

// reread takes in what others wrote to the log.
func (p *progress) reread(ctx context.Context) error {
	v, err := p.w.view(ctx, p.sess)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.view = v
	p.mu.Unlock()
	p.tell()
	return nil
}

// event takes an event into the view.
func (p *progress) event(e session.Event) {
	p.mu.Lock()
	err := p.view.Apply(e)
	p.mu.Unlock()
	if err == nil {
		p.tell()
	}
}

func (p *progress) tell() {
	select {
	case p.fresh <- struct{}{}:
	default:
	}
}

func (p *progress) run(ctx context.Context) {
	defer close(p.ended)
	tick := time.NewTicker(p.w.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.fresh:
		}
		// An edit that has left is waited for: cut off, it could come after a
		// later one.
		if err := p.write(context.WithoutCancel(ctx)); err != nil && ctx.Err() == nil {
			p.w.cfg.Log.WarnContext(ctx, "progress not shown", "session", p.sess.ID, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.w.progressText(p.view, p.sess)
}

// write edits the comment if it would say something else than it does. An
// edit says the same however often it is sent, so it needs no record; but one
// whose answer was lost may come late, and nothing is sent before it must
// have come.
func (p *progress) write(ctx context.Context) error {
	text := p.text()
	if text == p.last || p.id == 0 {
		return nil
	}
	if err := p.w.settleEdits(ctx); err != nil {
		return err
	}
	_, err := p.w.at.Client.Perform(ctx, ghapp.Write{
		Key: progressKey(p.sess.ID), Kind: ghapp.WriteEditComment, Thread: p.w.ref, Target: ghapp.Target{Comment: p.id}, Body: text,
	})
	if err != nil && ghapp.KindOf(err) != ghapp.Permanent {
		p.w.unsure.Store(time.Now().Add(p.w.cfg.Settle).UnixMicro())
	}
	if err == nil {
		p.last = text
	}
	return err
}

// settleEdits waits until a lost edit must have come.
func (w *worker) settleEdits(ctx context.Context) error {
	wait := time.Until(time.UnixMicro(w.unsure.Load()))
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end ends the following.
func (p *progress) end() {
	p.stop()
	<-p.ended
}

// flush ends the following and makes the comment say what is true now.
func (p *progress) flush(ctx context.Context) error {
	p.end()
	err := p.write(ctx)
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent {
		p.w.cfg.Log.WarnContext(ctx, "progress comment cannot be edited", "session", p.sess.ID, "err", err)
		return nil // it was deleted; the work goes on without
	}
	return err
}
