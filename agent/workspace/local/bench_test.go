package local_test

import (
	"os"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
)

// BenchmarkRun is a command that does nothing.
func BenchmarkRun(b *testing.B) {
	e, err := local.New(local.Config{Env: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	ws := workspacetest.Open(b, workspacetest.Subject{Engine: e}, workspacetest.Tree{"a.txt": "a"})
	for b.Loop() {
		if _, err := ws.Run(b.Context(), workspace.Command{Line: "true"}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
