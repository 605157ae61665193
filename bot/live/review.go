package live

import (
	"cmp"
	"context"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/review"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// maxInline is the default maximum number of line comments of a review.
const maxInline = 10

// review posts the session's findings. The posted review also announces the end of the
// run, so no other comment does.
func (l *Session) review(ctx context.Context) (coverage string, err error) {
	v := l.State
	n := len(v.Findings)
	fresh := n > 0 && v.Findings[n-1].Seq > l.Data.Reviewed
	over := l.Thread.Pull != nil && Reviews(v.ModeName()) && v.Finished() && v.EndedAt > l.Data.Reviewed
	if !fresh && !over {
		return "", nil
	}
	s := review.Session{
		ID:          l.Row.ID,
		State:       v,
		After:       l.Data.Reviewed,
		MaxComments: cmp.Or(l.config().Comments.Inline, maxInline),
		Least:       session.Severity(l.config().Comments.Severity),
		Client:      l.Thread.Client,
		Ensure:      l.Ensure,
		Later:       l.Later,
		Asked:       !Unasked(l.Thread, v),
		Has: func(ctx context.Context, key string) (bool, error) {
			_, err := l.cfg.Store.Effects.Effect(ctx, key)
			return err == nil, store.Unless(err, store.ErrNotFound)
		},
		Keyed:   l.cfg.keyed,
		Place:   review.Place{Thread: l.Thread.Ref, Pull: l.Thread.Pull, Home: l.Thread.Repo.URL},
		Earlier: func(ctx context.Context) ([]*session.State, error) { return l.cfg.earlier(ctx, l.Row) },
	}
	if l.Thread.Pull != nil && l.config().Comments.End != policy.Quiet {
		s.Author = func(ctx context.Context) ([]string, error) {
			return approval.Person(ctx, l.Thread.Client, l.Thread.Pull.Author)
		}
	}
	address, coverage, err := s.Post(ctx)
	if err != nil {
		return "", err
	}
	l.Data.Reviewed = v.Seq
	if address != "" {
		reported := l.Data.Schedule != nil && l.cfg.Report != nil
		l.Data.Told = approval.EndNotice{End: v.EndedAt, Posted: !reported, Review: reported}
		coverage = strings.TrimSpace(render.Reviewed(address) + "\n\n" + coverage)
	}
	return coverage, l.Save(ctx)
}

// FoundNothing reports whether the session ended as a whole review without findings, in whichever
// words.
func (l *Session) FoundNothing() bool {
	end := l.State.Outcome
	return end != nil && end.Status == session.StatusReviewed && end.Reason == "" && len(l.State.Findings) == 0
}

func (c *Config) keyed(body string) string {
	_, key := c.GitHub.Written(body)
	return key
}

// Outdated reports whether a requested review must begin anew, because the session's
// review is of an older head.
func (t *Thread) Outdated(v *session.State, mode string) bool {
	return t.Pull != nil && Reviews(mode) && Reviews(v.ModeName()) && v.Over() && len(v.Checkpoints) == 0 &&
		v.Published != t.Pull.HeadSHA
}

// Reviews reports whether a mode reviews changes.
func Reviews(mode string) bool {
	m, err := policy.ParseMode(mode)
	return err == nil && m.Reviews()
}

// Brief returns the context of a request beyond its thread. That of a review of a pull
// request is the repository's review guidelines, earlier findings and commits since then;
// that of a triage, labels and similar issues. row is the session to continue, or nil for a
// new one; rules are the configuration in force.
func (c *Config) Brief(
	ctx context.Context, at *Thread, row *store.Session, mode string, rules policy.Config,
) ([]session.Item, error) {
	if m, err := policy.ParseMode(mode); err == nil && m.Triages() && at.Pull == nil {
		return triageItems(ctx, at.Client, at.Issue, rules.MayLabel)
	}
	if at.Pull == nil || !Reviews(mode) {
		return nil, nil
	}
	b := review.Brief{Place: review.Place{Thread: at.Ref, Pull: at.Pull}, Client: at.Client, Keyed: c.keyed}
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
