package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/sweep"
	"github.com/handrail-bot/handrail/bot/thread"
)

// newWatch returns the watch over GitHub and the model. When one of them recovers, the
// waiting sessions are reconciled.
func (s *server) newWatch() *readiness {
	return newReadiness(readyConfig{
		Parts: []readyPart{{Name: "GitHub", Ask: s.askGitHub}, {Name: "model", Ask: s.askModel}},
		Back: func(ctx context.Context) {
			if err := s.bot.Reconcile(ctx); err != nil {
				s.log.WarnContext(ctx, "wake what waits", "err", err)
			}
		},
		Every: s.opt.watch, Log: s.log,
	})
}

// askModel asks the model's server for the default model of requests.
func (s *server) askModel(ctx context.Context) error {
	m, err := s.model(s.cfg.Model.Name)
	if err == nil {
		err = llm.Reach(ctx, m)
	}
	return err
}

// askGitHub asks GitHub for the bot's identity. Its errors name the setting to correct.
func (s *server) askGitHub(ctx context.Context) error {
	err := s.app.Check(ctx)
	var refused *ghapp.Error
	if !errors.As(err, &refused) {
		return err
	}
	key, address := "the App's id and private key: check HANDRAIL_APP_ID and HANDRAIL_PRIVATE_KEY_FILE", s.cfg.GitHub.API
	if s.cfg.GitHub.AppID == 0 {
		key = "the token: check HANDRAIL_GITHUB_TOKEN"
	}
	if address == "" {
		address = "api.github.com"
	}
	if refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden {
		return fmt.Errorf("it refuses %s (%w)", key, refused.Err)
	}
	return fmt.Errorf(
		"%s does not answer as GitHub's API does: check the network, and HANDRAIL_GITHUB_API, "+
			"which ends in /api/v3 on GitHub Enterprise Server (%w)",
		address,
		refused.Err,
	)
}

// note has the watch check again if work in a thread failed for a temporary reason. Only
// actual work shows that GitHub refuses an installation.
func (s *server) note(ctx context.Context, key string, err error) {
	ref, bad := thread.Parse(key)
	if bad != nil || ctx.Err() != nil {
		return
	}
	part := "installation of " + ref.Owner
	var refused *ghapp.Error
	switch {
	case err == nil:
		s.watch.Note(ctx, part, nil)
	case errors.As(err, &refused) && refused.Kind == ghapp.Temporary && refused.Status == http.StatusForbidden &&
		refused.RetryAfter == 0:
		s.watch.Note(ctx, part, fmt.Errorf("GitHub gives the App no access; it may be suspended (%w)", refused.Err))
	case fault.Temporary(err):
		s.watch.Soon()
	}
}

// lister returns the search for missed comments of a server with a token: GitHub lists
// deliveries only for Apps.
func (s *server) lister() sweep.Lister {
	return sweep.Lister{
		Said: func(ctx context.Context, since time.Time) (all []reads.Said, err error) {
			for _, name := range s.cfg.GitHub.Served() {
				at, err := thread.Parse(name + "#1")
				if err != nil {
					continue // owner/*: a token serves named repositories only
				}
				c, err := s.app.For(ctx, at, 0)
				if err != nil {
					return nil, err
				}
				said, err := reads.TextsSince(ctx, c, at, since)
				if err != nil {
					return nil, err
				}
				all = append(all, said...)
			}
			return all, nil
		},
		Take: func(ctx context.Context, event string, payload []byte) error {
			d, ok, err := s.bot.Source(ctx, event, payload)
			if err != nil || !ok {
				return err
			}
			d.ID, d.Event, d.Payload, d.Received = "listed-"+d.Key, event, payload, time.Now()
			_, err = s.redactedStore.Deliveries.Put(ctx, &d)
			return err
		},
		Meta: s.redactedStore.Meta, Every: cmp.Or(s.opt.missed, time.Duration(s.cfg.GitHub.Poll)), Log: s.log,
	}
}
