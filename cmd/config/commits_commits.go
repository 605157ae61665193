// Commits says how the commits of a session look: who is their author,
// whom they credit, and who signs them.

package config

import (
	"context"

	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/gitops/sign"
	"github.com/handrail-bot/handrail/policy"
)

// Job is what a session's commits depend on.
type Job struct {
	Client  *ghapp.Client
	Mirror  *gitops.Mirror
	Rules   policy.Commits
	Asker   policy.Actor // the account that has the requester's login now
	AskerID int64        // the account that asked; 0 when that is not known
	Key     *sign.Key    // of the server; nil for none
	App     bool         // the bot is a GitHub App, and not a token

	Must     bool                            // the server's policy asks for signatures, and not only the repository
	Unsigned func(ctx context.Context) error // is told of commits that GitHub does not sign
}

// Of returns how the commits of a session look.
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

// signer returns what signs commits, nil for nobody. That a key is missing is for
// whoever chose the word to mend.
func (j Job) signer() (func(string) gitops.Signer, error) {
	switch kind := j.Rules.Sign; {
	case !j.Rules.Signs():
		return nil, nil
	case kind == "api" && !j.App:
		return nil, fault.Told{Text: render.WhySignedByApps}
	case kind == "api":
		return j.byGitHub(), nil
	case j.Key == nil || j.Key.Kind != kind:
		return nil, fault.Told{Text: render.WhyNoSigningKey(kind)}
	}
	return func(string) gitops.Signer { return j.Key.Commit }, nil
}
