package approval

import (
	"context"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/render"
)

// whom returns who is told that a group of requests waits, each once: those who may
// answer by name, and where there are none, who asked for the session. A question, and
// a plan, is for who spoke last.
func (r Requests) whom(ctx context.Context, v *session.State, group []render.Request) ([]string, error) {
	var out []string
	add := func(names ...string) {
		for _, n := range names {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	for _, q := range group {
		if q.Kind != session.AskApproval {
			who, err := Person(ctx, r.Client, LastSpeaker(v))
			if err != nil {
				return nil, err
			}
			add(who...)
			continue
		}
		people, teams, err := r.reviewers(ctx, q.Asked)
		if err != nil {
			return nil, err
		}
		add(people...)
		for _, team := range teams {
			add(r.Thread.Owner + "/" + team)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	return Person(ctx, r.Client, r.Requester)
}
