// Package around has what holds for a command whatever its program: what it
// names in settings and options, and files that its tool obeys. It stands
// around the rule of the program.
package around

import (
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/walk"
)

// Look rates what a command names, whatever its program.
func Look(c *walk.Command) {
	optionPrograms(c)
	namedPrograms(c)
	writtenFiles(c)
	outsideCode(c)
	commandAddresses(c)
	if known.In("text-clients", c.Name) {
		walk.StrangeTexts(c)
	}
}
