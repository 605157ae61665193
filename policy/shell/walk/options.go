package walk

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
)

// SuspectValues looks at the values of options of a program that nobody knows:
// a text that begins with a program whose arguments matter may be run.
func SuspectValues(c *Command) {
	if c.Has("r", "R", "recursive") && c.Has("f", "force") { // as rm has them
		c.OnlyCritical(append(argv.Of("rm"), c.List...), c.Line())
	}
	for i, a := range c.List {
		option, value, ok := strings.Cut(a.S, "=")
		if !ok || len(option) < 2 || option[0] != '-' {
			option, value = c.At(i-1), a.S
		}
		if len(option) < 2 || option[0] != '-' || known.In("text-options", option) || !strings.Contains(value, " ") || !Dangerous(ProgramName(FirstWord(value))) {
			continue
		}
		c.OnlyCritical(argv.Of("sh", "-c", value), c.Line())
	}
}
