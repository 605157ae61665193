package agent

import (
	"context"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// sanitize makes an event fit to be kept. Whatever is recorded is what the
// model is told, what people are shown and what the store keeps, so this is
// the one place where secrets and invisible characters end.
//
// The arguments of a call are what will run: they lose the secrets that we
// know and nothing else. What a person is asked keeps its invisible
// characters, because it is shown with all of them made visible.
func (r *run) sanitize(ctx context.Context, e *session.Event) error {
	known := r.cfg.Redactor.Known()
	var secrets int
	var hidden untrusted.Removed
	err := session.Rewrite(e, func(key, text string) string {
		n := 0
		if key == "arguments" {
			text, n = known.Redact(text) //control:redact-arguments
			secrets += n
			return text
		}
		if e.Type == session.TypeResult && (key == "content" || key == "title") {
			var found untrusted.Removed
			text, found = untrusted.CleanPlain(text) //control:clean-results
			hidden = hidden.Plus(found)
		}
		text, n = r.cfg.Redactor.Redact(text) //control:redact-events
		secrets += n
		return text
	})
	if secrets > 0 || hidden.Total() > 0 {
		r.cfg.Log.InfoContext(ctx, "event cleaned", "session", r.state.Task.Session, "type", string(e.Type),
			"secrets", secrets, "removed", hidden.Total(), "what", hidden.String())
	}
	return err
}
