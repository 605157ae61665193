package bot

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/notice"
	"github.com/handrail-bot/handrail/bot/pull"
	"github.com/handrail-bot/handrail/bot/render"
)

// offer has the session's pull request say what is so, see [pull.Session.Follow].
func (l *leased) offer(ctx context.Context) (note string, err error) {
	s := pull.Session{
		ID: l.row.ID, Requester: l.row.Requester, Thread: l.at.Ref, Pull: l.at.Pull, Target: l.data.Target, Config: l.config(l.data),
		Client: l.at.Client, Number: l.row.Pull, Kept: l.data.Pull, Ensure: l.Ensure,
		Save: func(ctx context.Context, number int, k pull.Kept) error {
			l.row.Pull, l.data.Pull = number, k
			return l.save(ctx)
		},
	}
	return s.Follow(ctx, l.state)
}

// announce tells people of an end that an edited comment would not: GitHub
// notifies nobody of edits.
func (l *leased) announce(ctx context.Context, note string) error {
	v := l.state
	end := notice.End{State: v, Progress: l.data.Progress, Pull: l.row.Pull, Note: note, Comments: l.config(l.data).Comments}
	if l.data.Told.End == v.EndedAt || !end.Due() {
		return nil
	}
	var whom []string
	if end.Mentions() {
		var err error
		if whom, err = l.speaker(ctx); err != nil {
			return err
		}
	}
	ref, err := l.Ensure(ctx, inPlace(l.at.Ref, v.Place, ghapp.Write{
		Key: fmt.Sprintf("final-%s-%d", l.row.ID, v.EndedAt), Kind: ghapp.WriteComment, Mentions: whom, Body: end.Text(), First: true,
	}))
	if err != nil {
		return ghapp.UnlessRefused(err)
	}
	l.data.Told = notice.Told{End: v.EndedAt, URL: ref.URL}
	return l.save(ctx) // before the progress comment leads there
}

// speaker returns who gave the last instruction, to be mentioned.
func (l *leased) speaker(ctx context.Context) ([]string, error) {
	login := approval.LastSpeaker(l.state)
	if login == l.row.Requester && l.data.Person {
		return []string{login}, nil
	}
	return notice.Person(ctx, l.at.Client, login)
}

// answer tells a long answer, in as many comments as it needs.
func (l *leased) answer(ctx context.Context) error {
	v := l.state
	if len(v.Open()) > 0 {
		return nil
	}
	for i, body := range render.Answer(v) {
		key := fmt.Sprintf("answer-%s-%d-%d", l.row.ID, v.EndedAt, i)
		if err := l.Try(ctx, inPlace(l.at.Ref, v.Place, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: body, First: true})); err != nil {
			return err
		}
	}
	return nil
}

// handOver puts work that is on no branch before people, as patches in the
// thread: of what may not be pushed, and of what could not be.
func (l *leased) handOver(ctx context.Context) error {
	for _, s := range l.state.Sent {
		if s.Settled {
			continue
		}
		for i, p := range render.Patches(s.Patch) { //control:patch-in-the-thread
			key := fmt.Sprintf("patch-%s-%d-%d", l.row.ID, s.Seq, i)
			if err := l.Try(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: p.Text, Folds: p.Folds}); err != nil {
				return err
			}
		}
	}
	return nil
}
