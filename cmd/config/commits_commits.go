// The form of a session's commits: author, co-authors and signature.

package config

import (
	"context"

	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// Job holds the facts that determine a session's commits.
type Job struct {
	Client  *ghapp.Client
	Mirror  *gitops.Mirror
	Rules   policy.Commits
	Asker   policy.Actor       // account that has the requester's login now
	AskerID int64              // account of the requester; 0 if unknown
	Key     *gitops.SigningKey // the server's key; nil if there is none
	App     bool               // the bot is a GitHub App, not a token

	Must     bool                            // the server's own policy requires signatures
	Unsigned func(ctx context.Context) error // called if GitHub does not sign a commit
}

// Of returns the form of a session's commits.
func Of(ctx context.Context, j Job) (work.Commits, error) {
	own, err := ghapp.OwnAccount(ctx, j.Client)
	if err != nil {
		return work.Commits{}, err
	}
	out := work.Commits{Author: gitops.Signature(own), SignOff: j.Rules.SignsOff()}
	known := j.Asker.Lookup == policy.Found && j.Asker.ID != 0 && (j.AskerID == 0 || j.AskerID == j.Asker.ID)
	if j.Rules.NamesRequester() && known { //control:co-author-is-the-requester
		out.CoAuthors = []gitops.Signature{gitops.Signature(ghapp.AccountOf(j.Client, j.Asker.Login, j.Asker.ID))}
	}
	out.Sign, err = j.signer()
	return out, err
}

// signer returns the signer of commits, nil if they are unsigned. A missing key is an
// error for the owner of the setting.
func (j Job) signer() (func(string) gitops.Signer, error) {
	switch kind := j.Rules.Sign; {
	case !j.Rules.Signs():
		return nil, nil
	case kind == "api" && !j.App:
		return nil, fault.UserError{Text: render.WhySignedByApps}
	case kind == "api":
		return j.byGitHub(), nil
	case j.Key == nil || j.Key.Kind != kind:
		return nil, fault.UserError{Text: render.WhyNoSigningKey(kind)}
	}
	return func(string) gitops.Signer { return j.Key.Commit }, nil
}
