package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// mayApprove says whether an account may settle a request, now. Teams and
// CODEOWNERS are looked up where the configuration names them; what GitHub
// refuses to tell counts as no, and what it cannot tell now is an error, so
// that nothing is granted and the question is asked again.
func (w *worker) mayApprove(ctx context.Context, sess *store.Session, actor policy.Actor, asked session.Asked) (policy.Verdict, string, error) {
	rules, err := w.rules(ctx, sess)
	if err != nil {
		return policy.Deny, "", err
	}
	facts := rules.ApprovalFacts(requesterID(sess))
	if v, why := policy.MayApprove(actor, policy.ApprovalFacts{Bots: facts.Bots, Groups: [][]string{{"write"}}}); v == policy.Deny && actor.Lookup != policy.Found {
		return v, why, nil // nothing more need be asked about an account like this
	}
	entries := slices.Concat(facts.Groups...)
	for _, entry := range entries {
		team, ok := strings.CutPrefix(entry, "team:")
		if !ok {
			continue
		}
		in, err := w.inTeam(ctx, team, actor.Login)
		if err != nil {
			return policy.Deny, "", err
		}
		if in {
			actor.Teams = append(actor.Teams, team)
		}
	}
	if slices.Contains(entries, "codeowners") {
		if actor.CodeOwner, err = w.ownsAll(ctx, recordOf(sess).Target, actor.Login, asked.Paths); err != nil {
			return policy.Deny, "", err
		}
	}
	v, why := policy.MayApprove(actor, facts)
	return v, why, nil
}

// inTeam asks whether a person is in a team, "org/slug".
func (w *worker) inTeam(ctx context.Context, team, login string) (bool, error) {
	org, slug, ok := strings.Cut(team, "/")
	if !ok {
		return false, nil
	}
	in, err := w.at.Client.InTeam(ctx, org, slug, login)
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent {
		w.cfg.Log.WarnContext(ctx, "team cannot be read, nobody counts as a member", "team", team, "err", err)
		return false, nil
	}
	return in && err == nil, err
}

// ownerFiles is where GitHub looks for owners; the first one counts.
var ownerFiles = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}

// wholeTree is asked for where a request names no path. Only rules for
// everything match it.
const wholeTree = "\x00"

// ownsAll says whether a person owns every one of paths, by the CODEOWNERS
// file of the base branch.
func (w *worker) ownsAll(ctx context.Context, base, login string, paths []string) (bool, error) {
	owners, err := w.codeOwners(ctx, base)
	if err != nil {
		return false, err
	}
	if len(paths) == 0 {
		paths = []string{wholeTree}
	}
	for _, p := range paths {
		owns, err := w.isAmong(ctx, owners.Of(p), login)
		if err != nil || !owns {
			return false, err
		}
	}
	return true, nil
}

func (w *worker) isAmong(ctx context.Context, owners []string, login string) (bool, error) {
	for _, o := range owners {
		name, ok := strings.CutPrefix(o, "@")
		if !ok {
			continue // an address of mail proves nothing about an account
		}
		if strings.EqualFold(name, login) {
			return true, nil
		}
		if strings.Contains(name, "/") {
			if in, err := w.inTeam(ctx, name, login); in || err != nil {
				return in, err
			}
		}
	}
	return false, nil
}

func (w *worker) codeOwners(ctx context.Context, base string) (policy.CodeOwners, error) {
	for _, file := range ownerFiles {
		text, err := w.at.Client.FileAt(ctx, base, file)
		switch {
		case err == nil:
			return policy.ParseCodeOwners(string(text)), nil
		case errors.Is(err, ghapp.ErrNotFound):
			continue
		case ghapp.KindOf(err) == ghapp.Permanent:
			w.cfg.Log.WarnContext(ctx, "owners cannot be read, nobody counts as one", "file", file, "err", err)
			return policy.CodeOwners{}, nil
		}
		return policy.CodeOwners{}, fmt.Errorf("read owners: %w", err)
	}
	return policy.CodeOwners{}, nil
}
