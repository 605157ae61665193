package approval

import (
	"context"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/render"
)

// whom returns the users and teams to notify of a group of requests, each once: those
// that may answer by name or, if there are none, the requester of the session. A question
// or a plan is for the author of the last instruction.
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
