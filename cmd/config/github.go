package config

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/gitops"
)

// staging is the prefix of refs for commits while GitHub signs them. GitHub shows such
// refs on no page and starts no workflows for them.
const staging = "refs/handrail/sign/"

// byGitHub returns a signer that has GitHub create and sign the commits of a branch.
// Commits that an interrupted attempt left on the branch are not created again. If GitHub
// does not sign, it is asked only once, and a mere wish of the repository does not lose
// the work.
func (j Job) byGitHub() func(branch string) gitops.Signer {
	unsigned := false
	return func(branch string) gitops.Signer {
		return func(ctx context.Context, id string, commit []byte) ([]byte, error) {
			if unsigned {
				return commit, nil
			}
			made, err := j.atGitHub(ctx, branch, id, commit)
			if made != nil || err != nil {
				return made, err
			}
			if j.Must { //control:unsigned-stays-away
				return nil, fault.UserError{Text: render.WhyNotSigned}
			}
			unsigned = true
			return commit, j.Unsigned(ctx) //control:unsigned-is-told
		}
	}
}

// atGitHub returns the commit as GitHub created it, or unchanged if it is signed later;
// nil if GitHub does not sign.
func (j Job) atGitHub(ctx context.Context, branch, id string, commit []byte) ([]byte, error) {
	if made, err := j.Mirror.Twin(ctx, branch, id); made != nil || err != nil { //control:signed-once
		return made, err
	}
	spec, err := gitops.ReadCommit(commit)
	if err != nil {
		return nil, err
	}
	at := gitops.Push{Commit: id, Ref: staging + id}
	err = j.Mirror.Push(ctx, at)
	if errors.Is(err, gitops.ErrWorkflowScope) {
		return commit, nil // the branch refuses it too: it is split and signed later
	}
	if err != nil {
		return nil, fmt.Errorf("show GitHub the commit to sign: %w", err)
	}
	defer func() { // a leftover ref does no harm
		at.Commit, at.Old = "", id
		_ = j.Mirror.Push(context.WithoutCancel(ctx), at)
	}()
	made, err := ghapp.MakeCommit(ctx, j.Client, spec.Tree, spec.Message, spec.Parents)
	if err != nil || made.Signature == "" {
		return nil, err
	}
	return gitops.Signed([]byte(made.Payload), made.Signature, made.ID, gitops.CommitID)
}
