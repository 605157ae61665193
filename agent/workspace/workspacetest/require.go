package workspacetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Need skips the test if the engine cannot be used here, and fails it if required names
// the engine. required is a comma-separated list that tests take from
// HANDRAIL_REQUIRE_ENGINES.
func Need(t testing.TB, e workspace.Engine, required string) {
	t.Helper()
	err := e.Check(t.Context())
	switch {
	case err == nil:
	case slices.Contains(strings.Split(required, ","), e.Name()):
		t.Fatalf("%s is required: %v", e.Name(), err)
	default:
		t.Skipf("NEEDS %s: %v", strings.ToUpper(e.Name()), err)
	}
}
