package outbox

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
)

// Sign shows a session's state as a reaction if its thread is locked, because GitHub
// accepts no App comments there. Requests and results are not lost: the log has them,
// and a pull request shows them.
func (e Outbox) Sign(ctx context.Context, v *session.State) error {
	issue, err := e.Client.Issue(ctx, e.At)
	if err != nil || !issue.Locked { //control:locked-is-signed
		return err
	}
	wr := ghapp.Write{
		Key:  fmt.Sprintf("locked-%s-%d", e.Fence.Key, v.Seq),
		Kind: ghapp.WriteReaction,
		Body: render.Sign(v.Phase),
	}
	if v.Place.Thread == 0 {
		wr.Target = ghapp.Target{Comment: v.Place.Comment, Diff: v.Place.DiffThread != 0}
	}
	_, err = e.Ensure(ctx, wr)
	return ghapp.UnlessRefused(err)
}
