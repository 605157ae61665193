package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// provide looks up what a person's latest words name, once, and puts it in
// front of them, so that the model need not spend turns on reading it.
func (r *run) provide(ctx context.Context) (verdict, *session.Outcome, error) {
	if r.cfg.Provide == nil || r.state.talk.unprovided == "" {
		return goOn, nil, nil
	}
	items := r.cfg.Provide(ctx, r.state.talk.unprovided)
	if err := ctx.Err(); err != nil {
		return goOn, nil, err
	}
	if len(items) == 0 {
		r.state.talk.unprovided = ""
		return goOn, nil, nil
	}
	return goOn, nil, r.tell(ctx, session.NoteContext, provided(r.state.talk.nonce, items))
}

// provided puts items under labels that say that they need not be read again.
// What they hold was written by anyone, so it stands between the session's
// marks.
func provided(nonce string, items []session.Item) string {
	var b strings.Builder
	for _, it := range items {
		name := strings.ReplaceAll(untrusted.EscapeVisible(it.Name), "\n", `\n`)
		label := "Contents of " + name
		if it.Kind == session.ItemSelection {
			label = "The person's selected code from " + name
		}
		text := untrusted.Fence(nonce, name, strings.TrimSuffix(it.Text, "\n")) //control:code-fence
		fmt.Fprintf(&b, "%s (already provided — do not re-read):\n%s\n\n", label, text)
	}
	return b.String()
}
