package rules

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// strange looks at what a program is given that no rule knows. It may be an
// interpreter, a runner or a client: each text among its arguments and on its
// standard input may be a command or a program text. Only what is critical counts.
func strange(c *walk.Command) {
	if known.In("word-arguments", c.Name) || c.AsksHelp() {
		return
	}
	deviceCopy(c)
	walk.StrangeTexts(c)
}

// deviceCopy rates a program that is given files of which the last is a raw
// device, and remembers the copy of a system program: such are the arguments of
// what copies or converts.
func deviceCopy(c *walk.Command) {
	ops := c.OperandsAfter()
	if len(ops) < 2 {
		return
	}
	from, to := ops[len(ops)-2].S, c.Resolve(ops[len(ops)-1].S)
	if zone.Of(to) == zone.Device && strings.ContainsAny(from, "./") && mark.Known(to) {
		c.Write(to)
	}
	if text := c.ReadFile(from); walk.SystemProgram(text) && zone.Of(to) == zone.Workspace {
		c.Store(to, text, false)
	}
}
