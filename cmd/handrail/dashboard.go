package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/dashboard"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// board is the dashboard of a server. A nil value is a server without one.
type board struct {
	*dashboard.Server
	listen string
	http   *http.Server
	addr   net.Addr
}

// slowPoll is the pause between two looks at a log if the database tells of new events.
const slowPoll = 10 * time.Second

// newPages makes the dashboard, if one is configured.
func (s *server) newPages() error {
	cfg := s.cfg.Dashboard
	if cfg.Listen == "" {
		return nil
	}
	web, api := webOf(s.cfg.GitHub.API)
	d := dashboard.Config{
		Sessions: s.redactedStore.Sessions,
		Pages:    s.redactedStore.Logs.Page,
		Diff:     s.bot.DiffOf,
		Sheets:   s.sheets(),
		Poll:     map[bool]time.Duration{true: cmp.Or(s.opt.poll, slowPoll)}[s.store.Follows()],
		Web:      web,
		Now:      s.opt.now,
		Lease:    s.bot.LeaseTime(),
		Log:      s.log,
	}
	if cfg.ClientID != "" {
		key, err := secret.DeriveKey(cmp.Or(s.cfg.GitHub.WebhookSecret, s.cfg.LogKey), "dashboard cookies")
		if err != nil {
			return err
		}
		d.Key, d.URL, d.Rights = key, strings.TrimSuffix(cfg.URL, "/"), s.rightsOf
		d.Command = func(ctx context.Context, o dashboard.Order) error {
			return s.bot.Order(ctx, o.Session, o.By, o.ID, o.Text)
		}
		d.Answers = s.bot.MayAnswer
		d.Login = &dashboard.Login{
			ClientID: cfg.ClientID,
			Secret:   cfg.Secret,
			Web:      web,
			API:      api,
			Client:   &http.Client{Transport: s.transport(time.Minute), Timeout: time.Minute},
		}
	}
	made, err := dashboard.New(d)
	if err != nil {
		return err
	}
	s.pages = &board{Server: made, listen: cfg.Listen}
	return nil
}

// startPages serves the dashboard.
func (s *server) startPages() error {
	p := s.pages
	if p == nil {
		return nil
	}
	l, err := net.Listen("tcp", p.listen)
	if err != nil {
		return fmt.Errorf("listen on %s for the dashboard: %w", p.listen, err)
	}
	p.addr = l.Addr()
	p.http = &http.Server{
		Handler:           p,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
	}
	s.wait.Go(func() {
		if err := p.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the dashboard ended", "err", err)
		}
	})
	return nil
}

// follow tells the dashboard of events that other servers store.
func (s *server) follow(ctx context.Context) {
	for s.pages != nil && s.store.Follows() && ctx.Err() == nil {
		if err := s.store.Follow(ctx, s.pages.grown); err != nil { //control:dashboard-hears-others
			s.log.WarnContext(ctx, "the dashboard does not hear of other servers", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// grown tells the dashboard that a log has new events.
func (p *board) grown(id string) {
	if p != nil {
		p.Grown(id)
	}
}

// live shows progress of a run that is not in a log: all of it here, and the reason of a wait
// on other servers, too. nil means that no dashboard shows it.
func (s *server) live(w bot.Work) func(agent.Live) {
	p := s.pages
	if p == nil && (s.store == nil || !s.store.Follows()) {
		return nil
	}
	return func(l agent.Live) {
		w.Stall(l.Stall) //control:stall-is-recorded
		if p == nil {
			return
		}
		p.Live(w.Task.Session, dashboard.Live{Thinking: l.Thinking, Content: l.Content, Title: l.Title})
	}
}

// close ends the streams, then the server.
func (p *board) close(ctx context.Context) error {
	if p == nil || p.http == nil {
		return nil
	}
	p.Close()
	return p.http.Shutdown(ctx)
}

// webOf returns the addresses of GitHub's pages and of its API.
func webOf(api string) (web, rest string) {
	u, err := url.Parse(api)
	if api == "" || err != nil || u.Host == "api.github.com" {
		return "https://github.com", "https://api.github.com"
	}
	return u.Scheme + "://" + u.Host, strings.TrimSuffix(api, "/")
}

// rightsOf returns an account's rights in a repository. A repository that the App cannot
// reach gives none.
func (s *server) rightsOf(ctx context.Context, account int64, repository string) (policy.Actor, error) {
	owner, name, _ := strings.Cut(repository, "/")
	none := policy.Actor{Lookup: policy.NotFound}
	c, err := s.app.For(ctx, thread.Ref{Owner: owner, Repo: name}, 0)
	if err == nil {
		var who policy.Actor
		if who, err = c.ActorByID(ctx, account); err == nil {
			return who, nil
		}
	}
	if ghapp.KindOf(err) == ghapp.Permanent {
		err = nil
	}
	return none, err
}

// watchedLogs tells of new events in this process.
type watchedLogs struct {
	store.Logs
	grown func(id string)
}

// Log implements store.Logs.
func (l watchedLogs) Log(f store.Fence) session.Log { return watchedLog{l.Logs.Log(f), l, f.Key} }

// Apply implements store.Logs.
func (l watchedLogs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	err := l.Logs.Apply(ctx, f, c)
	if err == nil && len(c.Events) > 0 {
		l.grown(f.Key)
	}
	return err
}

type watchedLog struct {
	session.Log
	logs watchedLogs
	id   string
}

// Append implements session.Log.
func (l watchedLog) Append(ctx context.Context, events ...*session.Event) error {
	err := l.Log.Append(ctx, events...)
	if err == nil {
		l.logs.grown(l.id)
	}
	return err
}
