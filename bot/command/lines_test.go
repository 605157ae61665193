//go:build !race

// The race detector takes from pools at random: allocations cannot be counted with it.

package command

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// A text of thousands of lines, whatever they are, is read in no time: it is
// read while GitHub waits for an answer, and anybody can write it.
func TestManyLines(t *testing.T) {
	longtest.Leave(t)
	for _, line := range []string{
		"/agent help\n", "/agent help\n\n", "/agent\n", "> /agent stop\n", "/agent approve abc123\n", "- /agent\n", "/agent $\n", "<b>\n/agent\n", "`/agent\n", "1. /agent\n\n", "/agent http://a`\n",
		"<!-- \n/agent\n", "| a |\n|---|\n/agent\n", "[^1]: \n/agent\n", "From: a\nDate: b\n/agent x\n", "*/agent* \n", "[/agent](\n", "\t/agent\n", "---\n/agent\n", "<details>\n/agent\n", "www.a.b<\n/agent\n", "![/agent\n",
	} {
		work := func(size int) float64 {
			text := strings.Repeat(line, size/len(line))
			return testing.AllocsPerRun(1, func() { _, _ = table.Parse(text) })
		}
		if once, thrice := work(10_000), work(30_000); thrice > 6*once+5000 {
			t.Errorf("%q: three times the text takes %.0f allocations in place of %.0f", line, thrice, once)
		}
	}
}
