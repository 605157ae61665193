package walk

import (
	"strings"

	"mvdan.cc/sh/v3/expand"

	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// read takes a line of the input, splits it and assigns it.
func read(c *Command) string {
	line := unknown
	defer fromNumber(c)()
	delim, hasDelim := c.Value("d")
	switch {
	case !c.Given():
	case hasDelim && delim == "":
		line = strings.TrimSuffix(c.Stdin(), "\n")
	case c.Waiting() == "":
		c.status = failed
		return ""
	default:
		line, _, _ = strings.Cut(c.Waiting(), "\n")
		c.In.pos = min(c.In.pos+len(line)+1, len(c.In.Text))
	}
	if name, ok := c.Value("a"); ok {
		c.set(name, splitLine(c, line, -1)...)
		return ""
	}
	ops := c.OperandsAfter("p", "d", "n", "N", "t", "u", "i", "a")
	if len(ops) == 0 {
		c.set("REPLY", line)
		return ""
	}
	fields := splitLine(c, line, len(ops))
	for i, a := range ops {
		value := ""
		if i < len(fields) {
			value = fields[i]
		}
		if line == unknown {
			value = unknown
		}
		if strings.Contains(line, unknown) && c.Given() && c.In.file {
			value += mark.Written
		}
		assignWord(c.Walk, a.S, value)
	}
	return ""
}

func splitLine(c *Command, line string, n int) []string {
	ifs, _ := c.get("IFS")
	cfg := &expand.Config{Env: expand.FuncEnviron(func(name string) string {
		if name != "IFS" {
			return ""
		}
		return strings.Join(ifs, "")
	})}
	return expand.ReadFields(cfg, line, n, c.Has("r"))
}

// readLines is mapfile and readarray.
func readLines(c *Command) string {
	defer fromNumber(c)()
	line := unknown
	if c.Given() {
		line = strings.TrimSuffix(c.Stdin(), "\n")
	}
	name := "MAPFILE"
	if ops := c.OperandsAfter("d", "n", "O", "s", "u", "C", "c"); len(ops) > 0 {
		name = ops[len(ops)-1].S
	}
	end := "\n"
	if d, ok := c.Value("d"); ok && d != "" {
		end = d
	}
	lines := strings.Split(line, end)
	if strings.Contains(line, unknown) && c.Given() && c.In.file {
		lines[0] += mark.Written
	}
	c.set(name, lines...)
	return ""
}
