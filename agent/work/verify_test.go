package work

import (
	"slices"
	"testing"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/policy"
)

// The configuration says which commands tell that work is done, or the project does.
func TestVerifies(t *testing.T) {
	facts := project.Facts{Commands: []project.Command{{Does: "build", Line: "make"}, {Does: "test", Line: "make test"}, {Does: "test", Line: "tox"}}}
	for _, tt := range []struct {
		verify string
		test   []string
		want   []string
	}{
		{"", nil, []string{"make test"}},
		{"auto", nil, []string{"make test"}},
		{"off", nil, nil},
		{"sh ci.sh", nil, []string{"sh ci.sh"}},
	} {
		var rules policy.Config
		rules.Verify, rules.Test = tt.verify, tt.test
		e := &Engine{cfg: Config{Rules: rules}}
		if got := e.verifies(facts); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
