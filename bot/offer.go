package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/conversation"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
)

// offer opens the pull request of a session that put something on its branch.
// When GitHub will not have it, the note says so.
func (l *leased) offer(ctx context.Context) (note string, err error) {
	v := l.state
	if l.row.Pull != 0 || len(v.Checkpoints) == 0 || !v.Over() || v.Outcome.Status == session.StatusStopped {
		return "", nil
	}
	to, err := l.goal(ctx)
	if err != nil || to == "" {
		return "", err
	}
	cfg := l.config(l.data)
	issue, err := l.at.Client.Issue(ctx, l.at.Ref)
	if err != nil {
		return "", err
	}
	from := render.Origin{Number: l.at.Ref.Number, Pull: l.at.Pull != nil}
	switch {
	case from.Pull && l.at.Pull.Fork:
		from.Fork = v.Task.Base
	case from.Pull && v.Task.Branch != l.at.Pull.Head:
		from.Beside = l.at.Pull.Head
	}
	wr := ghapp.Write{Key: "pull-" + l.row.ID, Kind: ghapp.WritePull, First: true, Pull: &ghapp.PullSpec{
		Base: to, Head: v.Branch, Title: render.PullTitle(clean(issue.Title)),
		Body: render.PullBody(v, l.row.Requester, from), Closes: from.Closes(),
		Draft: cfg.PullRequest.Draft == nil || *cfg.PullRequest.Draft,
	}}
	ref, err := l.Ensure(ctx, wr)
	var no *ghapp.Refusal
	if errors.As(err, &no) { // what stood in its way earlier may be gone, or the branch that it goes to
		if to, err = conversation.Existing(ctx, l.at.Client, to); err != nil {
			return "", err
		}
		if to != wr.Pull.Base {
			wr.Pull.Body = render.BaseIsGone(wr.Pull.Base, to) + wr.Pull.Body
			wr.Pull.Base = to
		}
		wr.Key = fmt.Sprintf("pull-%s-%d", l.row.ID, v.Seq)
		ref, err = l.Ensure(ctx, wr)
	}
	if errors.As(err, &no) {
		return render.NoPull(v.Branch, no.Reason), nil
	}
	if err != nil {
		return "", err
	}
	l.row.Pull = ref.Number
	return "", l.save(ctx) // before anybody can ask for something there
}

// goal is the branch that the session's work is offered to, "" when it needs
// no pull request: it is on the branch of one that is open.
func (l *leased) goal(ctx context.Context) (string, error) {
	if l.at.Pull == nil {
		return l.data.Target, nil
	}
	if l.state.Task.Branch != approval.OwnBranch(l.at.Pull) { // a stacked branch, or one for a fork
		return l.data.Target, nil
	}
	if l.state.Branch != l.state.Task.Branch { // beside the branch of this pull request
		return l.state.Task.Branch, nil
	}
	p, err := l.at.Client.GetPull(ctx, l.at.Ref)
	if err != nil || p.State == "open" {
		return "", err
	}
	return p.Base, nil
}

// announce tells people of an end that an edited comment would not: GitHub
// notifies nobody of edits.
func (l *leased) announce(ctx context.Context, note string) error {
	v := l.state
	if v.Outcome == nil || l.row.Pull != 0 && v.Place.Thread == 0 && !render.Elsewhere(v.Sent) || len(v.Open()) > 0 || v.Outcome.Status == session.StatusStopped || v.Outcome.Status == session.StatusPlanned {
		return nil
	}
	body := render.Final(v)
	if l.row.Pull != 0 && l.row.Pull != v.Place.Thread {
		note = render.PullIs(l.row.Pull)
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
