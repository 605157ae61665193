package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// noteContext is the note that holds what was looked up for a request.
const noteContext = "context"

// provide looks up what a person's latest words name, once, and puts it in
// front of them, so that the model need not spend turns on reading it.
func (r *run) provide(ctx context.Context) (verdict, *session.Outcome, error) {
	if r.cfg.Provide == nil || r.state.unprovided == "" {
		return goOn, nil, nil
	}
	items := r.cfg.Provide(ctx, r.state.unprovided)
	if err := ctx.Err(); err != nil {
		return goOn, nil, err
	}
	if len(items) == 0 {
		r.state.unprovided = ""
		return goOn, nil, nil
	}
	return goOn, nil, r.tell(ctx, noteContext, provided(items))
}

// provided puts items under labels that say that they need not be read again.
func provided(items []session.Item) string {
	var b strings.Builder
	for _, it := range items {
		label := "Contents of " + it.Name
		if it.Kind == "selection" {
			label = "The person's selected code from " + it.Name
		}
		fence := fenceFor(it.Text)
		fmt.Fprintf(&b, "%s (already provided — do not re-read):\n%s\n%s\n%s\n\n", label, fence, strings.TrimSuffix(it.Text, "\n"), fence)
	}
	return b.String()
}

// fenceFor is a code fence that text cannot close.
func fenceFor(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}
