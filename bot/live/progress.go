package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/outbox"
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
	pictures := ""
	if at.Dashboard != "" {
		pictures = strings.TrimSuffix(at.Dashboard, "/") + "/s/" + row.ID
	}
	return render.Links{
		Pictures: pictures,

		Commit: at.commitURL,
		Pull:   row.Pull,
		Review: func(id string) int { return data.Reviews[id].Pull },
		Asked:  func(id string) string { return data.Reviews[id].URL },
		Note:   data.Told.NoteFor(v),
		Green:  data.Seen.greenAt(v),
	}
}

// ProgressKey returns the write key of a session's first progress comment.
func ProgressKey(id string) string { return "progress-" + id }

// progressKey returns the write key of the progress comment of a session's present request.
// A request that arrived before the end of the last one was shown goes on with its comment.
func (l *Session) progressKey() string {
	if v := l.State; v.Began.At > l.Data.Under && l.Data.Told.End == v.Began.After {
		l.Data.Under = v.Began.At
	}
	if l.Data.Under == 0 {
		return ProgressKey(l.Row.ID)
	}
	return fmt.Sprintf("%s-r%d", ProgressKey(l.Row.ID), l.Data.Under)
}

// maxProgressComments is the maximum number of progress comments of a request. A comment that is
// deleted again and again is considered unwanted.
const maxProgressComments = 5

// progressKeys returns the keys of the request's newest progress comment and of its
// replacement after a deletion. next is empty if the limit is reached.
func (l *Session) progressKeys(ctx context.Context) (key, next string, err error) {
	first := l.progressKey()
	key = first
	for n := 2; n <= maxProgressComments; n++ {
		next = fmt.Sprintf("%s-%d", first, n)
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
	at ghapp.Target // the comment; zero if there is none

	key string // key of its write

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
	ref, key, err := l.progressRef(ctx)
	if err != nil {
		return nil, err
	}
	l.Data.Progress = ref.URL
	ctx, stop := context.WithCancel(ctx)
	p := &Progress{
		l:     l,
		at:    TargetOf(ref),
		key:   key,
		view:  l.State,
		fresh: make(chan struct{}, 1),
		ended: make(chan struct{}),
		stop:  stop,
		began: time.Now(),
	}
	go p.run(ctx)
	return p, nil
}

// TargetOf returns a comment of the bot as the target of an edit.
func TargetOf(ref ghapp.Ref) ghapp.Target {
	if ref.ID == 0 {
		return ghapp.Target{}
	}
	return ghapp.Target{Comment: ref.ID, Diff: approval.OnDiff(ref.URL)}
}

// NoticeKey returns the write key of the notice that a text waits for GitHub.
func NoticeKey(text string) string { return "away-" + ghapp.Digest(text) }

// SettleNotice returns the write that settles the notice of a text in a comment. The progress comment
// of a further request takes its place.
func SettleNotice(text string, comment ghapp.Target) ghapp.Write {
	return ghapp.Write{
		Key:    NoticeKey(text) + "-over",
		Kind:   ghapp.WriteEditComment,
		Target: comment,
		Body:   render.WaitOver,
	}
}

// settledNotice returns the comment with the settled notice of the present request, if there is one.
func (l *Session) settledNotice(ctx context.Context) (ghapp.Target, error) {
	key := SettleNotice(l.State.Began.Key, ghapp.Target{}).Key
	in, err := l.cfg.Store.Effects.Effect(ctx, key)
	if err != nil || in.State != store.Done {
		return ghapp.Target{}, store.Unless(err, store.ErrNotFound)
	}
	return TargetOf(outbox.RefOf(in)), nil
}

// progressRef returns the progress comment of the present request and the key of its
// write, and posts the comment in the place of the request if needed. There is none if the
// configuration disables it, or GitHub refuses it.
func (l *Session) progressRef(ctx context.Context) (ref ghapp.Ref, key string, err error) {
	if l.config().Comments.Progress == policy.NoProgress { //control:no-progress
		return ref, "", nil
	}
	if Unasked(l.Thread, l.State) {
		return ref, "", nil
	}
	key, _, err = l.progressKeys(ctx)
	if err != nil {
		return ref, "", err
	}
	wr := ProgressWrite(key, l.Thread, l.Row, l.State)
	notice, err := l.settledNotice(ctx)
	if err != nil {
		return ref, "", err
	}
	wr.Notice = notice //control:notice-becomes-progress
	ref, err = l.Ensure(ctx, wr)
	return ref, key, ghapp.UnlessRefused(err)
}

// Unasked reports whether a session only reviews a pull request because it was opened or
// pushed to, as package trigger words it. It tells new findings, and
// nothing else unless it fails.
func Unasked(at *Thread, v *session.State) bool {
	return strings.HasSuffix(v.Began.Why, " this pull request") && at.Pull != nil && Reviews(v.ModeName()) && len(v.Open()) == 0 //control:no-news-no-comment
}

// ProgressWrite returns the write that posts a progress comment.
func ProgressWrite(key string, at *Thread, row *store.Session, v *session.State) ghapp.Write {
	text := ProgressText(at, row, v)
	wr := ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: text.Text, Folds: text.Folds}
	return approval.InPlace(at.Ref, v.Place, wr) //control:line-answer-alone
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
	for {
		select {
		case <-ctx.Done():
			return
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
	text := p.text()
	says := ghapp.Digest(fmt.Sprint(text))
	if says == p.last || p.at.Comment == 0 {
		return nil
	}
	if err := p.l.Edits.Wait(ctx); err != nil {
		return err
	}
	_, err := p.l.Thread.Client.Perform(ctx, ghapp.Write{
		Key:    p.key,
		Kind:   ghapp.WriteEditComment,
		Thread: p.l.Thread.Ref,
		Target: p.at,
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

// Edited reports whether the comment was edited. It is valid after End or Flush.
func (p *Progress) Edited() bool { return p.last != "" }

// repost posts a deleted progress comment again.
func (p *Progress) repost(ctx context.Context, text render.Post) error {
	_, next, err := p.l.progressKeys(ctx)
	if err != nil || next == "" {
		p.at = ghapp.Target{}
		return err
	}
	wr := ghapp.Write{Key: next, Kind: ghapp.WriteComment, Body: text.Text, Folds: text.Folds}
	ref, err := p.l.Ensure(ctx, approval.InPlace(p.l.Thread.Ref, p.view.Place, wr))
	if ghapp.UnlessRefused(err) != nil {
		return err
	}
	p.at, p.key = TargetOf(ref), next
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
	says := ghapp.Digest(p.key, fmt.Sprint(p.text()))
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
