package render

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
)

// NotAllowed says that a mode or a model is not allowed, and lists the allowed ones.
func NotAllowed(no *policy.NotAllowed) string {
	if len(no.Allowed) == 0 {
		return fmt.Sprintf(
			"the server's `%ss` and those of this repository have nothing in common, so nothing can run; a maintainer can change `.github/agent.yml`.",
			no.What,
		)
	}
	names := make([]string, 0, len(no.Allowed))
	for _, name := range no.Allowed {
		names = append(names, code(name))
	}
	how := "/agent --" + no.What + " " + no.Allowed[0]
	which := fmt.Sprintf("the %s %s is not allowed here", no.What, code(line(no.Name, 80)))
	if !no.Named {
		which = fmt.Sprintf("the default %s, %s, is not allowed here", no.What, code(line(no.Name, 80)))
	}
	return fmt.Sprintf("%s. Allowed: %s. Write for example %s", which, strings.Join(names, ", "), code(how+" …"))
}

// NoLonger returns the reason for the end of a session with a disallowed mode or model.
func NoLonger(no *policy.NotAllowed) string {
	return "I cannot go on: " + NotAllowed(no) + "."
}

// TurnsLater says that `--turns` has no effect on a running request.
func TurnsLater(asked int) string {
	return fmt.Sprintf(
		"`--turns` counts from the start of a request, and I am still working on one, so my limit stays. A maintainer can add turns with `/agent budget +%d`.",
		asked,
	)
}

// FewerTurns says that a session gets fewer turns than requested.
func FewerTurns(asked, most int) string {
	return fmt.Sprintf(
		"You asked for %s; a session here gets at most %d, so I work with those. A maintainer can add more later with `/agent budget +10`.",
		phrase.Count(asked, "turn"),
		most,
	)
}
