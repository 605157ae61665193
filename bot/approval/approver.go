package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy"
)

// MayAny reports whether an account may settle one of the requests now. Teams and
// CODEOWNERS are looked up if the configuration names them. A permanent refusal by GitHub
// counts as no. A temporary failure is an error, so that nothing is granted and the
// lookup is repeated.
func (s Session) MayAny(ctx context.Context, actor policy.Actor, requests []session.Asked) (bool, error) {
	for _, asked := range requests {
		if v, _, err := s.may(ctx, actor, asked); v == policy.Allow || err != nil {
			return v == policy.Allow && err == nil, err
		}
	}
	return false, nil
}

// may is [Session.MayAny] for one request, with the reason.
func (s Session) may(ctx context.Context, actor policy.Actor, asked session.Asked) (policy.Verdict, string, error) {
	if asked.Kind == session.AskPlan {
		v, why := s.mayPlan(actor)
		return v, why, nil
	}
	facts, err := s.facts()
	if err != nil {
		return policy.Deny, "", err
	}
	if v, why := policy.MayApprove(actor, policy.ApprovalFacts{Bots: facts.Bots, Groups: [][]string{{"write"}}}); v == policy.Deny &&
		actor.Lookup != policy.Found {
		return v, why, nil // no further lookup can help this account
	}
	entries := slices.Concat(facts.Groups...)
	for _, entry := range entries {
		team, ok := strings.CutPrefix(entry, "team:")
		if !ok {
			continue
		}
		in, err := s.inTeam(ctx, team, actor.Login)
		if err != nil {
			return policy.Deny, "", err
		}
		if in {
			actor.Teams = append(actor.Teams, team)
		}
	}
	if slices.Contains(entries, "codeowners") {
		owns, err := s.ownsAll(ctx, actor.Login, asked.Paths)
		if err != nil {
			return policy.Deny, "", err
		}
		actor.CodeOwner = owns
	}
	v, why := policy.MayApprove(actor, facts)
	return v, why, nil
}

// facts returns the approval rules of the configuration.
func (s Session) facts() (policy.ApprovalFacts, error) {
	rules, err := policy.New(s.Config)
	return rules.ApprovalFacts(s.RequesterID), err
}

// inTeam reports whether a user is in a team, "org/slug".
func (s Session) inTeam(ctx context.Context, team, login string) (bool, error) {
	org, slug, ok := strings.Cut(team, "/")
	if !ok {
		return false, nil
	}
	in, err := s.Client.InTeam(ctx, org, slug, login)
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent {
		s.Log.WarnContext(ctx, "team cannot be read, no account counts as a member", "team", team, "err", err)
		return false, nil
	}
	return in && err == nil, err //control:team-lookup
}

// ownerFiles are the possible CODEOWNERS files; the first one found counts.
var ownerFiles = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}

// wholeTree is the path of a request without paths. Only rules for everything match it.
const wholeTree = "\x00"

// ownsAll reports whether a user owns every one of paths, by the CODEOWNERS file of the
// target branch.
func (s Session) ownsAll(ctx context.Context, login string, paths []string) (bool, error) {
	owners, err := s.codeOwners(ctx)
	if err != nil {
		return false, err
	}
	if len(paths) == 0 {
		paths = []string{wholeTree}
	}
	for _, p := range paths {
		owns, err := s.isAmong(ctx, owners.Of(p), login)
		if err != nil || !owns { //control:every-path-owned
			return false, err
		}
	}
	return true, nil
}

func (s Session) isAmong(ctx context.Context, owners []string, login string) (bool, error) {
	for _, o := range owners {
		name, ok := strings.CutPrefix(o, "@")
		if !ok {
			continue // an email address does not prove an account
		}
		if strings.EqualFold(name, login) {
			return true, nil
		}
		if strings.Contains(name, "/") {
			if in, err := s.inTeam(ctx, name, login); in || err != nil {
				return in, err
			}
		}
	}
	return false, nil
}

func (s Session) codeOwners(ctx context.Context) (policy.CodeOwners, error) {
	for _, file := range ownerFiles {
		text, err := s.Client.FileAt(ctx, s.Target, file)
		switch {
		case err == nil:
			return policy.ParseCodeOwners(string(text)), nil
		case errors.Is(err, ghapp.ErrNotFound):
			continue
		case ghapp.KindOf(err) == ghapp.Permanent:
			s.Log.WarnContext(ctx, "owners cannot be read, no account counts as one", "file", file, "err", err)
			return policy.CodeOwners{}, nil
		}
		return policy.CodeOwners{}, fmt.Errorf("read owners: %w", err)
	}
	return policy.CodeOwners{}, nil
}

// maxReviewers is the maximum number of users asked to review, and of teams.
const maxReviewers = 10

// reviewers returns the users and teams to ask for a review: the owners of the paths or,
// if there are none, the teams that approve here or, if there are none, the requester. It
// leaves out bots, and users without the right to approve.
func (s Session) reviewers(ctx context.Context, asked session.Asked) (people, teams []string, err error) {
	owners, err := s.codeOwners(ctx)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, p := range asked.Paths {
		names = append(names, owners.Of(p)...)
	}
	people, teams, err = s.whoMay(ctx, asked, names)
	if err != nil || len(people)+len(teams) > 0 {
		return people, teams, err
	}
	facts, err := s.facts()
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range slices.Concat(facts.Groups...) {
		if team, ok := strings.CutPrefix(entry, "team:"); ok {
			names = append(names, "@"+team)
		}
	}
	if people, teams, err = s.whoMay(ctx, asked, names); err != nil || len(teams) > 0 {
		return people, teams, err
	}
	return s.whoMay(ctx, asked, []string{"@" + s.Requester})
}

// whoMay sorts names ("@login", "@org/team") into users with the right to approve a
// request, and teams of the repository's organization.
func (s Session) whoMay(ctx context.Context, asked session.Asked, names []string) (people, teams []string, err error) {
	for _, n := range names {
		name, ok := strings.CutPrefix(strings.ToLower(n), "@")
		if !ok {
			continue
		}
		if org, slug, ok := strings.Cut(name, "/"); ok {
			if strings.EqualFold(org, s.Thread.Owner) && !slices.Contains(teams, slug) && len(teams) < maxReviewers {
				teams = append(teams, slug)
			}
			continue
		}
		if slices.Contains(people, name) || len(people) == maxReviewers || policy.ValidateLogin(name) != nil {
			continue
		}
		actor, err := s.Client.Actor(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if v, _, err := s.may(ctx, actor, asked); err != nil {
			return nil, nil, err
		} else if v == policy.Allow && !actor.Bot {
			people = append(people, name)
		}
	}
	return people, teams, nil
}
