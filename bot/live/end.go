package live

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/pull"
	"github.com/handrail-bot/handrail/bot/render"
)

// PullRequest returns the session as one with work for a pull request.
func (l *Session) PullRequest() *pull.Session {
	return &pull.Session{
		ID:        l.Row.ID,
		Requester: l.Row.Requester,
		Person:    l.Data.Person,
		Thread:    l.Thread.Ref,
		Pull:      l.Thread.Pull,
		Target:    l.Data.Target,
		Config:    l.config(),
		Client:    l.Thread.Client,
		Number:    l.Row.Pull,
		With:      l.Data.with(),
		Kept:      l.Data.Pull,
		Ensure:    l.Ensure,
		Later:     l.Later,
		Save: func(ctx context.Context, number int, k pull.Kept) error {
			l.Row.Pull, l.Data.Pull = number, k
			return l.Save(ctx)
		},
	}
}

// announce tells of the end of a run where the progress comment does not: GitHub sends no
// notifications for edits, and there may be no progress comment.
func (l *Session) announce(ctx context.Context) error {
	v := l.State
	end := approval.End{State: v, Progress: l.Data.Progress, Pull: l.Row.Pull, Comments: l.config().Comments}
	if l.Data.Told.Done(v) || !end.Due() {
		return nil
	}
	whole := v.Phase == session.PhaseReviewed && v.Outcome.Reason == ""
	if Unasked(l.Thread, v) && whole && l.Data.Schedule == nil { //control:unread-is-posted
		return nil
	}
	if l.Data.Schedule != nil && l.cfg.Report != nil {
		if err := l.cfg.Report(ctx, l); err != nil {
			return err
		}
		l.Data.Told.Posted = true
		return l.Save(ctx)
	}
	var whom []string
	if end.Mentions() {
		var err error
		if whom, err = l.speaker(ctx); err != nil {
			return err
		}
	}
	post := render.Post{Text: end.Notice()}
	if l.Data.Progress == "" {
		post = ProgressText(l.Thread, l.Row, v)
	}
	_, err := l.Ensure(ctx, approval.InPlace(l.Thread.Ref, v.Place, ghapp.Write{
		Key:      fmt.Sprintf("final-%s-%d", l.Row.ID, v.EndedAt),
		Kind:     ghapp.WriteComment,
		Mentions: whom,
		Body:     post.Text,
		Folds:    post.Folds,
		First:    true,
	}))
	if err != nil {
		return ghapp.UnlessRefused(err)
	}
	l.Data.Told.Posted = true
	return l.Save(ctx)
}

// note keeps words about the end for the progress comment, which is rendered again later.
func (l *Session) note(ctx context.Context, text string) error {
	told := &l.Data.Told
	if l.State.Outcome == nil || told.End == l.State.EndedAt && strings.Contains(told.Note, text) {
		return nil
	}
	if told.End != l.State.EndedAt {
		*told = approval.EndNotice{End: l.State.EndedAt}
	}
	told.Note = text
	return l.Save(ctx)
}

// speaker returns the author of the last instruction, to be mentioned.
func (l *Session) speaker(ctx context.Context) ([]string, error) {
	login := approval.LastSpeaker(l.State)
	if login == l.Row.Requester && l.Data.Person {
		return []string{login}, nil
	}
	return approval.Person(ctx, l.Thread.Client, login)
}

// answer posts a long answer, in as many comments as necessary.
func (l *Session) answer(ctx context.Context) error {
	v := l.State
	if !v.Over() {
		return nil
	}
	for i, body := range render.Answer(v) {
		key := fmt.Sprintf("answer-%s-%d-%d", l.Row.ID, v.EndedAt, i)
		if err := l.Try(ctx, approval.InPlace(l.Thread.Ref, v.Place, ghapp.Write{
			Key:   key,
			Kind:  ghapp.WriteComment,
			Body:  body,
			First: true,
		})); err != nil {
			return err
		}
	}
	return nil
}

// handOver posts unpushed work as patches in the thread: changes that the bot may not
// push, and changes whose push failed.
func (l *Session) handOver(ctx context.Context) error {
	for _, s := range l.State.Sent {
		if s.Settled {
			continue
		}
		for i, p := range render.Patches(s.Patch) { //control:patch-in-the-thread
			key := fmt.Sprintf("patch-%s-%d-%d", l.Row.ID, s.Seq, i)
			if err := l.Try(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: p.Text, Folds: p.Folds}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Conclude updates GitHub to the session's state: requests for approval, the pull
// request, the review, the comments and the check runs. Last it saves the row.
func (l *Session) Conclude(ctx context.Context) error {
	p, err := l.Follow(ctx)
	if err != nil {
		return err
	}
	defer p.End()
	asks := l.Requests()
	if err := asks.Ask(ctx, l.State); err != nil {
		return err
	}
	note, err := l.PullRequest().Follow(ctx, l.State)
	if err != nil {
		return err
	}
	coverage, err := l.review(ctx)
	if err != nil {
		return err
	}
	if err := l.note(ctx, strings.TrimSpace(note+"\n\n"+coverage)); err != nil {
		return err
	}
	if err := l.answer(ctx); err != nil {
		return err
	}
	if err := l.handOver(ctx); err != nil {
		return err
	}
	if err := l.Sign(ctx, l.State); err != nil {
		return err
	}
	if err := p.Flush(ctx); err != nil {
		return err
	}
	if err := l.announce(ctx); err != nil { // after the result that it leads to
		return err
	}
	if err := l.Checks().End(ctx, l.State, l.TurnedAway); err != nil {
		return err
	}
	if err := l.SaveState(ctx); err != nil || l.Data.Pull.Late == 0 {
		return err
	}
	return l.Wake(ctx, l.cfg.Now().Add(min(l.Settle<<l.Data.Pull.Late, maxWait))) //control:labels-are-tried-again
}
