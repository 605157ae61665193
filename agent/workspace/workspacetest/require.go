package workspacetest

import (
	"flag"
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

// LeaveToCI skips a test of many seconds in a plain `go test`, for which neither -run nor a
// variable of CI, read by getenv, asks. .ci/test fails if it meets these words.
func LeaveToCI(t testing.TB, getenv func(string) string) {
	t.Helper()
	if plain(flag.Lookup("test.run").Value.String(), getenv) {
		t.Skip("LEFT TO .ci/test, or to -run: it takes long")
	}
}

func plain(run string, getenv func(string) string) bool {
	return run == "" && getenv("CI") == "" && getenv("HANDRAIL_LONG") == "" && getenv("HANDRAIL_REQUIRE_ENGINES") == ""
}
