package live

import (
	"cmp"
	"context"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/reviewer"
	"github.com/handrail-bot/handrail/bot/store"
)

// mostInline is how many comments on lines a review has where nobody said.
const mostInline = 10

// review posts what the session found. The review tells the end of the run: nothing is
// said beside it.
func (l *Session) review(ctx context.Context) (coverage string, err error) {
	v := l.State
	n := len(v.Findings)
	fresh := n > 0 && v.Findings[n-1].Seq > l.Data.Reviewed
	over := l.Thread.Pull != nil && Reviews(v.ModeName()) && v.Finished() && v.EndedAt > l.Data.Reviewed
	if !fresh && !over {
		return "", nil
	}
	s := reviewer.Session{
		ID: l.Row.ID, State: v, After: l.Data.Reviewed, Most: cmp.Or(l.config().Comments.Inline, mostInline), Client: l.Thread.Client, Ensure: l.Ensure, Later: l.Later, Keyed: l.cfg.keyed,
		Place:   reviewer.Place{Thread: l.Thread.Ref, Pull: l.Thread.Pull, Home: l.Thread.Repo.URL},
		Earlier: func(ctx context.Context) ([]*session.State, error) { return l.cfg.earlier(ctx, l.Row) },
	}
	address, coverage, err := s.Post(ctx)
	if err != nil {
		return "", err
	}
	l.Data.Reviewed = v.Seq
	if address != "" {
		l.Data.Told = approval.Told{End: v.EndedAt, URL: address}
	}
	return coverage, l.Save(ctx)
}

func (c *Config) keyed(body string) string {
	_, key := c.GitHub.Written(body)
	return key
}

// Outdated reports whether a review that is asked for has to begin anew, because the one
// that the session made is of code that is not the newest any more.
func (t *Thread) Outdated(v *session.State, mode string) bool {
	return t.Pull != nil && Reviews(mode) && Reviews(v.ModeName()) && v.Over() && len(v.Checkpoints) == 0 && v.Published != t.Pull.HeadSHA
}

// Reviews reports whether a mode is one in which changes are reviewed.
func Reviews(mode string) bool { return mode == "review" || mode == "security" }

// Brief returns what a review has to know besides its thread, of a pull request: how the
// repository wants reviews, what was found before, and what was pushed since. Row is the
// session that goes on, nil for one that begins.
func (c *Config) Brief(ctx context.Context, at *Thread, row *store.Session, mode string) ([]session.Item, error) {
	if at.Pull == nil || !Reviews(mode) {
		return nil, nil
	}
	b := reviewer.Brief{Place: reviewer.Place{Thread: at.Ref, Pull: at.Pull}, Client: at.Client, Keyed: c.keyed}
	of := &store.Session{Repo: at.Ref.Repository(), Thread: at.Ref.Key(), Created: c.Now()}
	if row != nil {
		of = row
		v, err := c.Fold(ctx, row)
		if err != nil {
			return nil, err
		}
		b.Before = append(b.Before, v)
	}
	before, err := c.earlier(ctx, of)
	b.Before = append(b.Before, before...)
	for _, v := range b.Before {
		if b.Since == "" && Reviews(v.ModeName()) && v.Finished() {
			b.Since = v.Published
		}
	}
	if err != nil {
		return nil, err
	}
	return b.Items(ctx)
}
