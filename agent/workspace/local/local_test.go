package local_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestMain(m *testing.M) {
	longtest.Wide(8)
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	t.Setenv("CANARY_TOKEN", workspacetest.Canary)
	e, err := local.New(local.Config{Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	workspacetest.Run(t, workspacetest.Subject{Engine: e})
}
