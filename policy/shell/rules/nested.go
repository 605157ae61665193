package rules

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/walk"
)

// later is at and batch.
func later(c *walk.Command) string {
	if c.Has("l", "c") || c.AsksHelp() {
		return unknown
	}
	c.Hit("scheduled")
	if file, ok := c.Value("f"); ok {
		return c.Nested(c.ReadFile(file))
	}
	if c.Given() {
		return c.StdinProgram()
	}
	return ""
}

func watch(c *walk.Command) string {
	if at := c.Command("n", "interval", "q", "equexit"); at >= 0 {
		return c.Nested(strings.Join(c.From(at).Texts(), " "))
	}
	return unknown
}

func benchmark(c *walk.Command) string {
	for _, v := range c.Values("--prepare", "-p", "--setup", "-s", "--cleanup", "-c", "--conclude", "-C") {
		c.Nested(v)
	}
	for _, a := range c.OperandsAfter("n", "interval", "w", "r", "m", "M", "warmup", "runs", "prepare", "p", "s", "setup", "c", "cleanup", "C", "conclude") {
		c.Nested(a.S)
	}
	return unknown
}
