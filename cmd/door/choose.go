package door

import (
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// Choose returns the mode, model and limits of a run, within the repository's
// configuration. The note explains a limit below the requested one.
func Choose(cfg policy.Config, asked policy.Choice) (with policy.Choice, note string, err error) {
	with, err = cfg.Choose(asked, "")
	switch {
	case err != nil:
		return with, "", notAllowed(err)
	case with.Model == "":
		return with, "", Usage("no model given: use --model NAME, HANDRAIL_MODEL, or `model:` in .github/agent.yml")
	}
	if most := cfg.TurnLimit(); most > 0 && with.Turns > most { //control:run-turns-bind
		note = fmt.Sprintf(
			"! --turns %d: the configuration of this repository gives a session at most %d, so it gets those. When they are used, `handrail resume` with --turns adds more.",
			with.Turns,
			most,
		)
		with.Turns = most
	}
	return with, note, nil
}

// ContinueSession returns t's text as the next message of the recorded session, and makes t the task
// of that session. A mode applies to the message only; other choices stay the session's.
func ContinueSession(
	cfg policy.Config,
	events []session.Event,
	t *session.Task,
	asked policy.Choice,
) (session.Message, error) {
	was, err := session.Fold(events)
	if err != nil {
		return session.Message{}, err
	}
	m := session.Message{Text: t.Text, Budget: asked.Turns}
	*t = was.Task
	with := policy.Choice{Mode: t.Mode, Model: t.Model}
	if asked.Mode != "" {
		mode, err := policy.ParseMode(asked.Mode)
		if err != nil {
			return m, UsageError{Err: err}
		}
		if with.Mode = mode.Name; m.Text == "" {
			return m, Usage("--mode %s needs --task in a resumed session", mode.Name)
		}
	}
	if err := cfg.Permits(with); err != nil { //control:run-goes-on-allowed
		return m, notAllowed(err)
	}
	if m.Text != "" && with.Mode != was.ModeName() { //control:run-mode-of-a-wish
		m.Mode = with.Mode
	}
	return m, nil
}

// notAllowed names the values that the configuration allows instead.
func notAllowed(err error) error {
	var no *policy.NotAllowed
	if !errors.As(err, &no) {
		return UsageError{Err: err}
	}
	return Usage(
		"the %s %q is not allowed here: `%ss` in .github/agent.yml has %s (choose with --%s)",
		no.What,
		no.Name,
		no.What,
		strings.Trim(fmt.Sprintf("%q", no.Allowed), "[]"),
		no.What,
	)
}
