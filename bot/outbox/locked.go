package outbox

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
)

// Sign says by a reaction how a session stands in a thread that is locked, where GitHub
// takes no comment of an App. What was asked for there is not lost: the log has it, and
// a pull request says it.
func (e Outbox) Sign(ctx context.Context, v *session.State) error {
	issue, err := e.Client.Issue(ctx, e.At)
	if err != nil || !issue.Locked { //control:locked-is-signed
		return err
	}
	wr := ghapp.Write{Key: fmt.Sprintf("locked-%s-%d", e.Fence.Key, v.Seq), Kind: ghapp.WriteReaction, Body: render.Sign(v.Phase)}
	if v.Place.Thread == 0 {
		wr.Target = ghapp.Target{Comment: v.Place.Comment, Diff: v.Place.DiffThread != 0}
	}
	_, err = e.Ensure(ctx, wr)
	return ghapp.UnlessRefused(err)
}
