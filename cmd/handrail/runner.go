package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// serveRunner runs the bot's sessions: it brings the mirror up to date and
// hands the session to the engine. It is safe for concurrent use.
type serveRunner struct {
	*server

	mu      sync.Mutex
	clients map[string]*ghapp.Client // by clone URL: who may fetch and push there
}

// auth gives gitops the credentials for a repository that a session works on.
func (r *serveRunner) auth(ctx context.Context, url string) (string, string, error) {
	r.mu.Lock()
	c := r.clients[strings.TrimSuffix(url, ".git")]
	r.mu.Unlock()
	if c == nil {
		return "", "", fmt.Errorf("no session works on %s", url)
	}
	return c.GitAuth(ctx, url)
}

// mirror returns the repository, up to date.
func (r *serveRunner) mirror(ctx context.Context, at bot.Thread) (*gitops.Mirror, error) {
	r.mu.Lock()
	r.clients[strings.TrimSuffix(at.Repo.CloneURL, ".git")] = at.Client
	r.mu.Unlock()
	m, err := r.git.Mirror(ctx, at.Repo.CloneURL)
	if err != nil {
		return nil, err
	}
	if err := m.Fetch(ctx); err != nil {
		return nil, err
	}
	if at.Pull != nil && at.Pull.Fork {
		return m, m.Fetch(ctx, gitops.PullRef(at.Ref.Number))
	}
	return m, nil
}

// errFork is the reply to a wish for changes on a pull request from a fork.
var errFork = errors.New("this pull request comes from a fork, which I cannot push to; ask me in a pull request of this repository, or use a read-only mode such as `/agent review`")

// Place implements bot.Runner.
func (r *serveRunner) Place(ctx context.Context, at bot.Thread) (bot.Place, error) {
	m, err := r.mirror(ctx, at)
	if err != nil {
		return bot.Place{}, err
	}
	branch, head, err := m.Default(ctx)
	if err != nil {
		return bot.Place{}, err
	}
	cfg, err := repoConfig(ctx, m, head)
	if err != nil {
		return bot.Place{}, err
	}
	p := bot.Place{Base: head, Target: branch, Config: cfg}
	if at.Pull != nil {
		if at.Pull.Fork {
			return p, errFork
		}
		p.Base, p.Branch, p.Target = at.Pull.HeadSHA, at.Pull.Head, at.Pull.Base
	}
	return p, nil
}

// Run implements bot.Runner.
func (r *serveRunner) Run(ctx context.Context, w bot.Work) (session.Outcome, error) {
	m, err := r.mirror(ctx, w.Thread)
	if err != nil {
		return session.Outcome{}, err
	}
	self, err := w.Thread.Client.Self(ctx)
	if err != nil {
		return session.Outcome{}, err
	}
	cfg, err := r.config(ctx, m)
	if err != nil {
		return session.Outcome{}, err
	}
	rules, err := policy.New(cfg)
	if err != nil {
		return session.Outcome{}, err
	}
	e := *r.engine
	e.policy, e.config = rules, cfg
	_, rulesAt, err := m.Default(ctx)
	if err != nil {
		return session.Outcome{}, err
	}
	return e.run(ctx, job{
		task: w.Task, name: w.Thread.Ref.Repo, log: w.Log, repo: m, review: true, author: gitops.Signature{Name: self, Email: strings.TrimSuffix(self, "[bot]") + "@users.noreply.github.com"},
		push: func(ctx context.Context, p gitops.SafePush) (gitops.Pushed, error) {
			p.Exists = p.Exists || w.Thread.Pull != nil && w.Thread.Pull.Head == strings.TrimPrefix(p.Ref, "refs/heads/")
			return m.PushSafe(ctx, p)
		},
		inbox: w.Inbox, onEvent: w.OnEvent, shares: sharesOf(w.Shares), rulesAt: rulesAt, confirm: w.Confirm,
		bound: func(ctx context.Context) ([]session.Fact, error) { return r.bound(ctx, w) },
	})
}

// bound is what an approval is bound to outside of the workspace, at this
// moment: what GitHub says, and whether somebody else pushed to the branch.
func (r *serveRunner) bound(ctx context.Context, w bot.Work) ([]session.Fact, error) {
	facts, err := w.Bound(ctx)
	if err != nil {
		return nil, err
	}
	m, err := r.mirror(ctx, w.Thread)
	if err != nil {
		return nil, err
	}
	foreign, err := r.foreign(ctx, m, w)
	return append(facts, session.Fact{Name: "push by somebody else", Value: foreign}), err
}

// foreign is the head of the session's branch when somebody else put it
// there, else "". An approval is for the branch as it was shown; a push by
// somebody else makes it stale.
func (r *serveRunner) foreign(ctx context.Context, m *gitops.Mirror, w bot.Work) (string, error) {
	at, err := standing(ctx, w.Log, w.Task)
	if err != nil {
		return "", err
	}
	head, err := m.Resolve(ctx, "refs/heads/"+at.branch)
	if errors.Is(err, gitops.ErrNotFound) || head == at.published {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	// A push of ours that was cut off before it was noted is nobody else's:
	// it holds what was saved, and nothing more.
	_, stats, err := m.Diff(ctx, at.saved, head, gitops.DiffOptions{MaxBytes: 1})
	if err != nil || len(stats) == 0 {
		return "", err
	}
	if ours, err := mergedByHand(ctx, m, head, at.reviewed); ours || err != nil {
		return "", err
	}
	return head, nil
}

// config is the repository's configuration of today, from its default branch,
// under the server's.
func (r *serveRunner) config(ctx context.Context, m *gitops.Mirror) (policy.Config, error) {
	_, head, err := m.Default(ctx)
	if err != nil {
		return policy.Config{}, err
	}
	repo, err := repoConfig(ctx, m, head)
	if err != nil {
		return policy.Config{}, err
	}
	return policy.Merge(r.cfg.Policy, repo).WithDefaults(), nil
}

// sharesOf are the bot's shared budgets as the agent counts them.
func sharesOf(list []bot.Share) []agent.Share {
	limits := func(l policy.Limits) agent.Limits {
		return agent.Limits{Turns: l.Turns, Tokens: l.Tokens, Wall: time.Duration(l.Time), Edits: l.Edits, ChangedLines: l.Lines}
	}
	out := make([]agent.Share, 0, len(list))
	for _, s := range list {
		out = append(out, agent.Share{Of: s.Of, Limits: limits(s.Limits), Used: limits(s.Used)})
	}
	return out
}
