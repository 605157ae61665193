package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// ProgressText returns the progress comment of a session.
func ProgressText(at *Thread, row *store.Session, v *session.State) render.Post {
	return render.Progress(v, linksOf(at, row, v))
}

func linksOf(at *Thread, row *store.Session, v *session.State) render.Links {
	data := DataOf(row)
	return render.Links{
		Commit: at.commitURL,
		Pull:   row.Pull,
		Review: func(id string) int { return data.Reviews[id].Pull },
		Asked:  func(id string) string { return data.Reviews[id].URL },
		Told:   data.Told.URLFor(v),
		Green:  data.Seen.greenAt(v),
	}
}

// ProgressKey returns the write key of a session's first progress comment.
func ProgressKey(id string) string { return "progress-" + id }

// maxProgressComments is the maximum number of progress comments of a session. A comment that is
// deleted again and again is considered unwanted.
const maxProgressComments = 5

// progressKeys returns the keys of the session's newest progress comment and of its
// replacement after a deletion. next is empty if the limit is reached.
func (l *Session) progressKeys(ctx context.Context) (key, next string, err error) {
	key = ProgressKey(l.Row.ID)
	for n := 2; n <= maxProgressComments; n++ {
		next = fmt.Sprintf("%s-%d", ProgressKey(l.Row.ID), n)
		_, err := l.cfg.Store.Effects.Effect(ctx, next)
		if err != nil {
			return key, next, store.Unless(err, store.ErrNotFound)
		}
		key = next
	}
	return key, "", nil
}

// Progress keeps the progress comment in step with the log. Edits are spaced; Flush
// publishes the last state.
type Progress struct {
	l  *Session
	id int64 // id of the comment; 0 if there is none

	key string // key of its write

	quiet bool // no comment is needed yet, see [Quiet]

	mu    sync.Mutex
	view  *session.State
	wait  int    // number of runs ahead of this one at the model
	setup string // progress of the workspace's setup; empty if there is none
	now   running
	due   bool // an update with new output is scheduled
	fresh chan struct{}
	ended chan struct{}
	stop  context.CancelFunc
	began time.Time
	last  string // digest of the last text written
}

// Follow starts updating the progress comment as events arrive. The caller must call
// End or Flush.
func (l *Session) Follow(ctx context.Context) (*Progress, error) {
	ref, key, err := l.progressRef(ctx, Quiet(l.State, 0))
	if err != nil {
		return nil, err
	}
	l.Data.Progress = ref.URL
	ctx, stop := context.WithCancel(ctx)
	p := &Progress{
		l:     l,
		id:    ref.ID,
		key:   key,
		quiet: ref.ID == 0 && Quiet(l.State, 0),
		view:  l.State,
		fresh: make(chan struct{}, 1),
		ended: make(chan struct{}),
		stop:  stop,
		began: time.Now(),
	}
	go p.run(ctx)
	return p, nil
}

// quietPeriod is the time that a question on a line may take without a progress comment.
const quietPeriod = 10 * time.Second

// Quiet reports whether a session of this age needs no progress comment. An instruction
// on a line of a diff is answered there, and the conversation stays clean, unless the
// session takes long, asks a question or changes files.
func Quiet(v *session.State, age time.Duration) bool {
	return v.Place.DiffThread != 0 && age < quietPeriod && len(v.Open()) == 0 && len(v.Checkpoints) == 0 //control:line-answer-alone
}

// progressRef returns the progress comment and the key of its write, and posts the
// comment if needed. There is none if the configuration disables it, GitHub refuses it,
// or the session is quiet and has not begun one.
func (l *Session) progressRef(ctx context.Context, quiet bool) (ref ghapp.Ref, key string, err error) {
	if l.config().Comments.Progress == policy.NoProgress { //control:no-progress
		return ref, "", nil
	}
	text := ProgressText(l.Thread, l.Row, l.State)
	key, _, err = l.progressKeys(ctx)
	if err != nil {
		return ref, "", err
	}
	if quiet {
		if _, err := l.cfg.Store.Effects.Effect(ctx, key); err != nil {
			return ref, key, store.Unless(err, store.ErrNotFound)
		}
	}
	ref, err = l.Ensure(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: text.Text, Folds: text.Folds})
	return ref, key, ghapp.UnlessRefused(err)
}

// Reread loads events that others wrote to the log.
func (p *Progress) Reread(ctx context.Context) error {
	if err := p.l.Reload(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	p.view = p.l.State
	p.mu.Unlock()
	p.tell()
	return nil
}

// Event applies an event to the view.
func (p *Progress) Event(e session.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view.Apply(e) != nil {
		return
	}
	p.setup = ""
	if tool := p.view.AtWork(); tool != p.now.tool {
		p.now = running{tool: tool, began: p.l.cfg.Now()}
	}
	p.tell()
}

// updateDelay is the delay before an update that comes with no event, such as a new place in
// the queue. Such updates are frequent, and edits are limited.
const updateDelay = 30 * time.Second

// Waiting sets the number of runs ahead of this one at the model.
func (p *Progress) Waiting(before int) {
	p.mu.Lock()
	first := p.wait == 0
	p.wait = before
	p.mu.Unlock()
	if first {
		p.tell()
		return
	}
	time.AfterFunc(updateDelay, p.tell)
}

// running is the state of the tool at work.
type running struct {
	tool           *session.ToolRun
	began, printed time.Time
	last           func() string // the tool's last line of output; nil if there is none
}

// Setup sets the progress of the workspace's setup. The first message is shown like an
// event, later ones with a delay.
func (p *Progress) Setup(how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.setup == ""
	p.setup = how
	p.scheduleUpdate(first)
}

// Printed reports output of the tool at work. The first output is shown like an event,
// further output with a delay.
func (p *Progress) Printed(last func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.now.last == nil
	p.now.last, p.now.printed = last, p.l.cfg.Now()
	p.scheduleUpdate(first)
}

// scheduleUpdate schedules an update without an event, at once or after a delay. The caller holds
// the lock.
func (p *Progress) scheduleUpdate(atOnce bool) {
	switch {
	case atOnce:
		p.tell()
	case !p.due: //control:output-is-no-event
		p.due = true
		time.AfterFunc(updateDelay, p.updateOutput)
	}
}

// updateOutput updates the comment with the latest output.
func (p *Progress) updateOutput() {
	p.mu.Lock()
	p.due = false
	p.mu.Unlock()
	p.tell()
}

func (p *Progress) tell() {
	select {
	case p.fresh <- struct{}{}:
	default:
	}
}

func (p *Progress) run(ctx context.Context) {
	defer close(p.ended)
	late := time.After(quietPeriod)
	for {
		select {
		case <-ctx.Done():
			return
		case <-late:
		case <-p.fresh:
		}
		if p.over() { //control:end-by-flush
			continue
		}
		// A sent edit is waited for. If it were cancelled, it could arrive after a later one.
		err := fault.Guarded(
			ctx,
			p.l.Log,
			"progress of session "+p.l.Row.ID,
			func() error { return p.write(context.WithoutCancel(ctx), false) },
		)
		if err != nil && ctx.Err() == nil {
			p.l.cfg.Log.WarnContext(ctx, "progress not shown", "session", p.l.Row.ID, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause(p.l.cfg.Every, time.Since(p.began))):
		}
	}
}

// pause returns the time between two edits at a session's age. Edits become rarer, so
// that a long session does not exhaust the write budget.
func pause(every, age time.Duration) time.Duration {
	return min(every+time.Duration(float64(every)*age.Seconds()/30), max(every, 5*time.Minute)) //control:progress-pause
}

// over reports whether the run has ended, or is about to end because it asked for an
// approval whose comment does not exist yet. The rest is left to Flush, which knows the
// comments to link to.
func (p *Progress) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view.Outcome != nil {
		return true
	}
	asked := DataOf(p.l.Row).Reviews
	return slices.ContainsFunc(
		p.view.Open(),
		func(a session.Asked) bool { return a.Kind != session.AskCommit && asked[a.ID].URL == "" },
	)
}

func (p *Progress) text() render.Post {
	p.mu.Lock()
	now := p.now
	p.mu.Unlock()
	var at render.Running
	if now.last != nil { // last searches for secrets, which is slow
		at = render.Running{Line: now.last(), After: now.printed.Sub(now.began)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	links := linksOf(p.l.Thread, p.l.Row, p.view)
	if p.now.tool == now.tool { // the tool has not changed meanwhile
		links.Now = at
	}
	links.Setup = p.setup
	links.Before = p.wait //control:waiting-is-said
	return render.Progress(p.view, links)
}

// write edits the comment if its text has changed. An edit is idempotent, so it needs
// no record. If its answer was lost, it may still arrive late: no other edit is sent
// before the settle time is over.
func (p *Progress) write(ctx context.Context, last bool) error {
	if err := p.speakUp(ctx); err != nil {
		return err
	}
	text := p.text()
	says := ghapp.Digest(fmt.Sprint(text))
	if says == p.last || p.id == 0 {
		return nil
	}
	if err := p.l.Edits.Wait(ctx); err != nil {
		return err
	}
	_, err := p.l.Thread.Client.Perform(ctx, ghapp.Write{
		Key:    p.key,
		Kind:   ghapp.WriteEditComment,
		Thread: p.l.Thread.Ref,
		Target: ghapp.Target{Comment: p.id},
		Body:   text.Text,
		Folds:  text.Folds,
		First:  last,
	})
	if ghapp.KindOf(err) == ghapp.Unknown {
		p.l.Edits.MarkLost()
	}
	if ghapp.KindOf(err) == ghapp.Permanent && errors.Is(err, ghapp.ErrNotFound) { //control:progress-anew
		err = p.repost(ctx, text)
	}
	if err == nil {
		p.last = says
	}
	return err
}

// speakUp begins the progress comment as soon as a quiet session needs one.
func (p *Progress) speakUp(ctx context.Context) (err error) {
	p.mu.Lock()
	speak := p.quiet && !Quiet(p.view, time.Since(p.began)) && (p.view.Outcome == nil || len(p.view.Checkpoints) > 0)
	p.quiet = p.quiet && !speak
	p.mu.Unlock()
	if !speak {
		return nil
	}
	ref, key, err := p.l.progressRef(ctx, false)
	p.id, p.key = ref.ID, key
	return err
}

// Edited reports whether the comment was edited. It is valid after End or Flush.
func (p *Progress) Edited() bool { return p.last != "" }

// repost posts a deleted progress comment again.
func (p *Progress) repost(ctx context.Context, text render.Post) error {
	_, next, err := p.l.progressKeys(ctx)
	if err != nil || next == "" {
		p.id = 0
		return err
	}
	ref, err := p.l.Ensure(ctx, ghapp.Write{Key: next, Kind: ghapp.WriteComment, Body: text.Text, Folds: text.Folds})
	if ghapp.UnlessRefused(err) != nil {
		return err
	}
	p.id, p.key = ref.ID, next
	return nil
}

// End stops the updates and waits for the last one.
func (p *Progress) End() {
	p.stop()
	<-p.ended
}

// Flush stops the updates and writes the current state.
func (p *Progress) Flush(ctx context.Context) error {
	p.End()
	says := ghapp.Digest(fmt.Sprint(p.text()))
	if says == p.l.Data.Shown { //control:said-already
		return nil
	}
	err := p.write(ctx, true)
	if err == nil {
		p.l.Data.Shown = says
	}
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent {
		p.l.cfg.Log.WarnContext(ctx, "progress comment cannot be edited", "session", p.l.Row.ID, "err", err)
		return nil // the session continues without the comment
	}
	return err
}
