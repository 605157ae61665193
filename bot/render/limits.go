package render

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/policy"
)

// NotAllowed says that a mode or a model is not allowed, and lists the allowed ones.
func NotAllowed(no *policy.NotAllowed) string {
	if len(no.Allowed) == 0 {
		return fmt.Sprintf("the server's `%ss` and those of this repository have nothing in common, so nothing can run; whoever keeps `.github/agent.yml` can change that.", no.What)
	}
	names := make([]string, 0, len(no.Allowed))
	for _, name := range no.Allowed {
		names = append(names, code(name))
	}
	how := "/agent --" + no.What + " " + no.Allowed[0]
	which := fmt.Sprintf("the %s %s is not allowed here", no.What, code(line(no.Name, 80)))
	if !no.Named {
		which = fmt.Sprintf("a request that names no %s would get %s, which is not allowed here", no.What, code(line(no.Name, 80)))
	}
	return fmt.Sprintf("%s. Allowed: %s. Write for example %s", which, strings.Join(names, ", "), code(how+" …"))
}

// NoLonger returns the reason for the end of a session with a disallowed mode or model.
func NoLonger(no *policy.NotAllowed) string {
	return "The session cannot go on: " + NotAllowed(no) + "."
}

// TurnsLater says that `--turns` has no effect on a running request.
func TurnsLater(asked int) string {
	return fmt.Sprintf("I go on with the turns that I have: `--turns` counts from the beginning of a request, and I am still at one. Whoever maintains this repository adds more with `/agent budget +%d`.", asked)
}

// FewerTurns says that a session gets fewer turns than requested.
func FewerTurns(asked, most int) string {
	return fmt.Sprintf("You asked for %s; a session here gets at most %d, so that is what I work with. Whoever maintains this repository can grant more later with `/agent budget +10`.", plural(asked, "turn"), most)
}
