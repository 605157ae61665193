package builtin

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/tools"
)

// TestTestsAreSlow: whatever runs tests may run long, however it is called.
func TestTestsAreSlow(t *testing.T) {
	for line, want := range map[string]bool{
		". .venv/bin/activate && python -m pytest": true,
		".venv/bin/python -m unittest test":        true,
		"npx vitest run":                           true,
		"python -m venv .venv":                     false,
		"ls":                                       false,
	} {
		if got := (runner{Kit: &tools.Kit{}}).isSlow(line); got != want {
			t.Errorf("%q: slow is %v", line, got)
		}
	}
}
