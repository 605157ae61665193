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
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/reader"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// serveRunner runs the bot's sessions: it updates the mirror and hands the session to the
// engine. It is safe for concurrent use.
type serveRunner struct {
	*server

	unready error // why there are no workspaces, or nil

	mu      sync.Mutex
	clients map[string]*ghapp.Client // with access to a repository, by clone URL
}

// auth returns the credentials for a repository with a session.
func (r *serveRunner) auth(ctx context.Context, url string, a gitops.Access) (string, string, error) {
	r.mu.Lock()
	c := r.clients[strings.TrimSuffix(url, ".git")]
	r.mu.Unlock()
	if c == nil {
		return "", "", fmt.Errorf("no session works on %s", url)
	}
	use := map[gitops.Access]ghapp.Git{
		gitops.AccessPush:      ghapp.GitPush,
		gitops.AccessWorkflows: ghapp.GitPushWorkflows,
	}[a] // the zero value fetches
	return c.GitAuth(ctx, url, use)
}

// mirror returns the updated mirror of the repository.
func (r *serveRunner) mirror(ctx context.Context, at live.Thread) (*gitops.Mirror, error) {
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

// rules returns the configuration of a repository.
func rules(ctx context.Context, m *gitops.Mirror) (policy.Config, error) {
	_, _, cfg, err := defaults(ctx, m)
	return cfg, err
}

// ready returns the message for the requester if there are no workspaces.
func (r *serveRunner) ready() error {
	if r.unready == nil { //control:no-workspace-is-told
		return nil
	}
	r.opt.fault(r.unready)
	return fault.UserError{Text: render.NoWorkspace(r.unready.Error())}
}

// maxSubjects is the maximum number of commit subjects that show a repository's convention.
const maxSubjects = 30

// StartPoint implements bot.Runner.
func (r *serveRunner) StartPoint(ctx context.Context, at live.Thread) (bot.StartPoint, error) {
	if err := r.ready(); err != nil {
		return bot.StartPoint{}, err
	}
	m, err := r.mirror(ctx, at)
	if err != nil {
		return bot.StartPoint{}, err
	}
	branch, head, cfg, err := r.defaults(ctx, m)
	if err != nil {
		return bot.StartPoint{}, err
	}
	p := bot.StartPoint{Base: head, Target: branch, Config: cfg}
	subjects, err := m.Subjects(ctx, head, maxSubjects)
	if err != nil {
		return bot.StartPoint{}, err
	}
	p.Convention = session.ConventionOf(subjects)
	set := policy.Merge(r.cfg.Policy, cfg).PullRequest
	if at.Pull == nil && set.Base != "" { //control:base-of-the-configuration
		p.Target = set.Base
		if p.Base, err = work.HeadOf(ctx, m, set.Base); err == nil && p.Base == "" {
			err = fault.UserError{Text: render.NoBase(set.Base)}
		}
		return p, err
	}
	if at.Pull != nil && at.Pull.State != "open" && !at.Pull.Fork { //control:closed-pull-begins-anew
		to, err := work.HeadOf(ctx, m, at.Pull.Base)
		if to != "" {
			p.Target, p.Base = at.Pull.Base, to
		}
		return p, err
	}
	if at.Pull != nil {
		p.Base, p.Branch, p.Target = at.Pull.HeadSHA, at.Pull.Head, at.Pull.Base
		if at.Pull.Fork { // the result gets a branch in this repository
			p.Branch = ""
			return p, nil
		}
		beside := set.Branch == "stacked"
		if !beside {
			beside, err = at.Closed(ctx, branch, p.Branch)
		}
		if beside { //control:stacked-branch
			p.Branch, p.Target = "", at.Pull.Head
		}
	}
	return p, err
}

// Run implements bot.Runner.
func (r *serveRunner) Run(ctx context.Context, w bot.Work) (session.Outcome, error) {
	ctx, log, ended := r.traces.Run(ctx, w.Task, w.Log)
	w.Log = log
	out, err := r.run(ctx, w)
	ended(out, err)
	return out, err
}

func (r *serveRunner) run(ctx context.Context, w bot.Work) (session.Outcome, error) {
	if err := r.ready(); err != nil {
		return session.Outcome{}, err
	}
	m, err := r.mirror(ctx, w.Thread)
	if err != nil {
		return session.Outcome{}, err
	}
	standard, rulesAt, repo, err := r.defaults(ctx, m)
	if err != nil {
		return session.Outcome{}, err
	}
	if follow := w.OnEvent; r.opt.shown != nil {
		w.OnEvent = func(e session.Event) { follow(e); r.opt.shown(e) }
	}
	rules := policy.Merge(r.cfg.Policy, repo).WithDefaults()
	others, err := r.others(ctx, &w, rules, repo)
	if err != nil {
		return session.Outcome{}, err
	}
	e, err := r.engine.Under(rules)
	if err != nil {
		return session.Outcome{}, err
	}
	asker := policy.Actor{Lookup: policy.NotFound} // without rights: a scheduled session has no requester
	if w.Task.Requester != "" {
		if asker, err = w.Thread.Client.Actor(ctx, w.Task.Requester); err != nil {
			return session.Outcome{}, err
		}
	}
	// An imported log has no account number, but writing such a log requires push access.
	untrusted := w.RequesterID != 0 && asker.ID != w.RequesterID || !policy.MayPush(asker) //control:hold-requester
	look, err := config.Of(ctx, config.Job{
		Client:   w.Thread.Client,
		Mirror:   m,
		Rules:    rules.Commits,
		Asker:    asker,
		AskerID:  w.RequesterID,
		Key:      r.cfg.Commits.Sign,
		App:      r.app.IsApp(),
		Must:     r.cfg.Policy.Commits.Signs(),
		Unsigned: w.Unsigned,
	})
	if err != nil {
		return session.Outcome{}, err
	}
	seat := r.seats.Run(func(before int) { r.queued(ctx, w, before) })
	defer seat.Leave() //control:seat-given-back
	onto := standard
	if w.Thread.Pull != nil {
		onto = w.Thread.Pull.Base
	}
	out, err := e.Run(ctx, work.Job{
		Onto:    onto,
		Seat:    seat.Take,
		Task:    w.Task,
		Name:    w.Thread.Ref.Repo,
		Log:     w.Log,
		Repo:    m,
		Others:  others,
		Commits: look,
		Push: func(ctx context.Context, p gitops.SafePush) (_ gitops.Pushed, err error) {
			branch := strings.TrimPrefix(p.Ref, "refs/heads/")
			p.Exists = p.Exists || approval.OwnBranch(w.Thread.Pull) == branch
			if p.Closed, err = w.Thread.Closed(ctx, standard, branch); err != nil {
				return gitops.Pushed{}, err
			}
			return m.PushSafe(ctx, p)
		},
		Untrusted: untrusted,
		Foreign:   w.Thread.Pull != nil && w.Thread.Pull.Fork,
		Equip: func(c *agent.Config) {
			c.Plans = w.Thread.Pull == nil || !w.Thread.Pull.Fork // work on a fork waits until its commit is approved
			of := reader.New(w.Thread.Client, w.Thread.Ref, local.Hides(m))
			c.Tools = append(c.Tools, threadTools(of, w, rules)...)
		},
		ReviewBranch: func(request string) string { return approval.ReviewBranch(w.Thread.Ref, request) },
		Inbox:        w.Inbox,
		Shown: work.Shown{
			OnEvent: w.OnEvent, OnLive: r.live(w), OnOutput: w.OnOutput, OnSetup: w.OnSetup,
			OnCall: w.OnCall,
		},
		Shares:        w.Shares,
		RulesAt:       rulesAt,
		Confirm:       w.Confirm,
		ApprovalFacts: func(ctx context.Context) ([]session.Fact, error) { return r.approvalFacts(ctx, w) },
	})
	if errors.Is(err, workspace.ErrNoImage) {
		err = r.noImage(ctx, w, err)
	}
	r.noteAway(ctx, w.Task.Model, err)
	return out, err
}

// noteAway notes that a session could not reach its model.
func (r *serveRunner) noteAway(ctx context.Context, model string, err error) {
	away := &session.Away{}
	if !errors.As(err, &away) || away.For != session.PhaseWaitingModel {
		return
	}
	if model == r.cfg.Model.Name { // the watch asks for this model only
		r.watch.NoteOutage(ctx, "model", err)
	}
	if r.opt.away != nil {
		r.opt.away(away.Err)
	}
}

// threadTools returns the tools of a session for its thread.
func threadTools(of reader.Reader, w bot.Work, rules policy.Config) []tools.Tool {
	board := reader.Board{Reader: of, Session: w.Task.Session, Log: w.Log, Send: w.Post, Intended: w.Intended}
	desk := reader.Desk{Board: board, Rules: rules, Alone: w.Task.Requester == "", Had: w.Had}
	wait := reader.Wait{Log: w.Log, Now: time.Now, Green: w.SawGreen, Limits: rules.CIFix}
	list := append(github.Tools(of, w.Task.Nonce), board.Tools()...)
	return append(list, desk.Tool(), of.Waiting(wait, w.Task.Nonce))
}

// noImage tells the thread which image is missing, and the operator the cause.
func (r *serveRunner) noImage(ctx context.Context, w bot.Work, err error) error {
	r.log.ErrorContext(ctx, "no image for commands", "thread", w.Thread.Ref.Key(), "err", err)
	var image interface{ Image() string }
	name := "that was asked for"
	if errors.As(err, &image) {
		name = image.Image()
	}
	return fault.UserError{Text: render.NoImage(name)} //control:no-image-is-told
}

// queued tells how many sessions are before this one at the model.
func (r *serveRunner) queued(ctx context.Context, w bot.Work, before int) {
	r.log.InfoContext(ctx, "session waits for the model", "session", w.Task.Session, "before", before)
	w.Waiting(before)
}

// approvalFacts returns the current facts outside of the workspace that an approval
// depends on: those of GitHub, and a push to the branch by another author.
func (r *serveRunner) approvalFacts(ctx context.Context, w bot.Work) ([]session.Fact, error) {
	facts, err := w.ApprovalFacts(ctx)
	if err != nil {
		return nil, err
	}
	m, err := r.mirror(ctx, w.Thread)
	if err != nil {
		return nil, err
	}
	foreign, err := work.Foreign(ctx, m, w.Log, w.Task)
	return append(facts, session.Fact{Name: "push by somebody else", Value: foreign}), err
}

// defaults returns the default branch, its head, and the repository's configuration
// there.
func defaults(ctx context.Context, m *gitops.Mirror) (branch, head string, cfg policy.Config, err error) {
	if branch, head, err = m.Default(ctx); err != nil {
		return branch, head, cfg, err
	}
	cfg, err = work.ReadConfig(ctx, m, head)
	if err != nil && !fault.Temporary(err) {
		err = fault.UserError{Text: err.Error()} // the participants of the thread can correct the file
	}
	return branch, head, cfg, err
}

// defaults is [defaults]. It reports a fault of the configuration to opt.fault.
func (r *serveRunner) defaults(
	ctx context.Context,
	m *gitops.Mirror,
) (branch, head string, cfg policy.Config, err error) {
	branch, head, cfg, err = defaults(ctx, m)
	if r.opt.fault != nil && errors.As(err, new(fault.UserError)) {
		r.opt.fault(err)
	}
	return branch, head, cfg, err
}

// Offer implements bot.Offerer.
func (r *serveRunner) Offer(ctx context.Context, at live.Thread, o approval.Offer) (string, error) {
	m, err := r.mirror(ctx, at)
	if err != nil {
		return "", err
	}
	return local.Offer(ctx, m, o)
}
