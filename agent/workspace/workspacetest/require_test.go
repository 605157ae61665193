package workspacetest

import "testing"

func TestNothingIsLeftToCIThere(t *testing.T) {
	for _, tt := range []struct {
		run, name string
		want      bool
	}{{want: true}, {run: "TestConformance"}, {name: "CI"}, {name: "HANDRAIL_LONG"}, {name: "HANDRAIL_REQUIRE_ENGINES"}} {
		got := plain(tt.run, func(name string) string {
			if name == tt.name {
				return "1"
			}
			return ""
		})
		if got != tt.want {
			t.Errorf("-run %q with %s: long tests are left out: %t", tt.run, tt.name, got)
		}
	}
}
