package bwrap_test

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// A fallback to copies must not hide that overlays have stopped working.
func TestLayers(t *testing.T) {
	longtest.Leave(t)
	for name, copied := range map[string]bool{"overlay": false, "copy": true} {
		t.Run(name, func(t *testing.T) {
			s := workspacetest.Subject{Engine: engine(t, bwrap.Config{Copy: copied}), Wall: true}
			ws := workspacetest.Open(t, s, workspacetest.Tree{"a.txt": "a"})
			res, err := ws.Run(t.Context(), workspace.Command{Line: "grep ' /workspace ' /proc/self/mountinfo; id; ls -la / /workspace /handrail; ulimit -a | grep -E 'data|proc'; cat /proc/self/cgroup; ls /sys"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(res.Output)
			if overlay := strings.Contains(res.Output, "- overlay "); overlay == copied {
				t.Errorf("an overlay: %t", overlay)
			}
		})
	}
}
