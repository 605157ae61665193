package door

import (
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/policy"
)

// Choose returns what a run works with, within what the configuration of its repository
// allows. The note says where that is less than was asked for.
func Choose(cfg policy.Config, asked policy.Choice) (with policy.Choice, note string, err error) {
	with, err = cfg.Choose(asked, "")
	switch {
	case err != nil:
		return with, "", NotAllowed(err)
	case with.Model == "":
		return with, "", Usage("no model given: use --model NAME, HANDRAIL_MODEL, or `model:` in .github/agent.yml")
	}
	if most := cfg.TurnLimit(); most > 0 && with.Turns > most { //control:run-turns-bind
		note = fmt.Sprintf("! --turns %d: the configuration of this repository gives a session at most %d, so it gets those. When they are used, --session with --turns adds more.", with.Turns, most)
		with.Turns = most
	}
	return with, note, nil
}

// NotAllowed says what the configuration allows instead.
func NotAllowed(err error) error {
	var no *policy.NotAllowed
	if !errors.As(err, &no) {
		return UsageError{Err: err}
	}
	return Usage("the %s %q is not allowed here: `%ss` in .github/agent.yml has %s (choose with --%s)", no.What, no.Name, no.What, strings.Trim(fmt.Sprintf("%q", no.Allowed), "[]"), no.What)
}
