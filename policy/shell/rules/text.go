package rules

import (
	"path"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/filter"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// pathTool is basename, dirname, realpath and readlink.
func pathTool(c *walk.Command) string {
	ops := c.OperandsAfter("s", "relative-to")
	if len(ops) == 0 {
		return unknown
	}
	if c.Is("basename") && len(ops) == 2 && mark.Known(ops[0].S) {
		return strings.TrimSuffix(path.Base(ops[0].S), ops[1].S) + "\n"
	}
	var b strings.Builder
	for _, a := range ops {
		switch {
		case !mark.Known(a.S):
			b.WriteString(mark.Opaque(a.S))
		case c.Is("basename"):
			b.WriteString(path.Base(a.S))
		case c.Is("dirname"):
			b.WriteString(path.Dir(a.S))
		default:
			b.WriteString(c.Resolve(a.S))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func makeTemp(_ *walk.Command) string { return "/tmp/tmp." + unknown + "\n" }

func sequence(c *walk.Command) string {
	out, ok := filter.Sequence(c.List)
	if !ok {
		return unknown
	}
	return out
}

var jqEnviron = walk.Lazily(`(?:^|[^.\w"$])(?:\$ENV|env)\b(\.[A-Za-z_]\w*)?(\s*:)?`)

// jq looks for the environment in its program text.
func jq(c *walk.Command) string {
	program := c.OperandsAfter("arg", "argjson", "indent", "f", "from-file").At(0)
	for _, s := range jqEnviron().FindAllStringSubmatch(program, 8) {
		switch {
		case s[2] != "":
		case s[1] == "":
			c.Hit("environment-dump")
			return secret + unknown
		case zone.SecretName(s[1]):
			c.Hit("secret-shown")
			return secret + unknown
		}
	}
	return c.PassOn()
}
