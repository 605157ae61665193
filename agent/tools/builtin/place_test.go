package builtin

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// Of several lines as quoted the nearest one is meant; where two are as near, the number counts.
func TestNearestQuotedLine(t *testing.T) {
	t.Parallel()
	text := []string{"a", "x", "b", "x", "c", "d", "x"}
	for line, want := range map[int]int{1: 2, 2: 2, 3: 3, 4: 4, 5: 4, 6: 7, 9: 7} {
		f := session.Finding{Line: line}
		if follow(&f, text, "  x\n"); f.Line != want {
			t.Errorf("line %d is %d, want %d", line, f.Line, want)
		}
	}
}
