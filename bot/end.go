package bot

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
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
	if v.Outcome == nil || l.row.Pull != 0 && v.Place.Thread == 0 && note == "" && !render.Elsewhere(v.Sent) || len(v.Open()) > 0 || v.Outcome.Status == session.StatusStopped || v.Outcome.Status == session.StatusPlanned {
		return nil
	}
	body := render.Final(v)
	if l.row.Pull != 0 && l.row.Pull != v.Place.Thread {
		note = strings.TrimSpace(render.PullIs(l.row.Pull) + "\n\n" + note)
	}
	if note != "" {
		body += "\n" + note + "\n"
	}
	if body == "" {
		return nil
	}
	_, err := l.Ensure(ctx, inPlace(l.at.Ref, v.Place, ghapp.Write{Key: fmt.Sprintf("final-%s-%d", l.row.ID, v.EndedAt), Kind: ghapp.WriteComment, Body: body, First: true}))
	return ghapp.UnlessRefused(err)
}

// answer tells a long answer, in as many comments as it needs.
func (l *leased) answer(ctx context.Context) error {
	v := l.state
	if len(v.Open()) > 0 {
		return nil
	}
	for i, body := range render.Answer(v) {
		key := fmt.Sprintf("answer-%s-%d-%d", l.row.ID, v.EndedAt, i)
		_, err := l.Ensure(ctx, inPlace(l.at.Ref, v.Place, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: body, First: true}))
		if ghapp.UnlessRefused(err) != nil {
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
			_, err := l.Ensure(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: p.Text, Folds: p.Folds})
			if ghapp.UnlessRefused(err) != nil {
				return err
			}
		}
	}
	return nil
}
