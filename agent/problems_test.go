package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// TestDifference: only fresh lists with a known state before count, and moved errors are no new ones.
func TestDifference(t *testing.T) {
	old := workspace.Problem{Line: 3, Severity: 1, Message: "old"}
	moved := workspace.Problem{Line: 9, Severity: 1, Message: "old"}
	fresh := workspace.Problem{Line: 5, Column: 12, Severity: 1, Message: "undefined: c"}
	warning := workspace.Problem{Line: 1, Severity: 2, Message: "unused"}
	was, now := []workspace.Problem{old}, []workspace.Problem{fresh, moved, warning}
	for _, test := range []struct {
		file   workspace.FileProblems
		want   string
		lost   int
		before int
	}{
		{workspace.FileProblems{State: "fresh", Known: true, Before: was, Items: now}, "a.go:5:12 undefined: c", 0, 1},
		{workspace.FileProblems{State: "fresh", Known: true, Before: was}, "", 1, 1},
		{workspace.FileProblems{State: "fresh", Known: true, Before: was, Left: 1}, "", 0, 1},
		{workspace.FileProblems{State: "fresh", Before: was, Items: now}, "", 0, 0},
		{workspace.FileProblems{State: "settling", Known: true, Before: was, Items: now}, "", 0, 0},
	} {
		test.file.Path = "a.go"
		brought, lost, before := newErrors([]workspace.FileProblems{test.file})
		if got := strings.Join(brought, "\n"); got != test.want || lost != test.lost || before != test.before {
			t.Errorf("%+v: brought %q, %d lost, %d before", test.file, got, lost, before)
		}
	}
}

// TestBroughtIsShort: at most five lines and 600 bytes.
func TestBroughtIsShort(t *testing.T) {
	var many []string
	for i := range 9 {
		many = append(many, fmt.Sprintf("a.go:%d %s", i, strings.Repeat("x", 30)))
	}
	if got := linesOf(many); strings.Count(got, "\n") != 5 || !strings.HasSuffix(got, "… and 4 more") {
		t.Errorf("nine errors: %q", got)
	}
	for i := range many {
		many[i] += strings.Repeat("y", 700)
	}
	if got := linesOf(many); len(got) > maxProblems {
		t.Errorf("long errors take %d bytes", len(got))
	}
}
