package docker_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// image is what .ci/workspace-image makes.
const image = "handrail-workspace:local"

func TestMain(m *testing.M) {
	if workspacetest.Toolhost(os.Environ()) {
		return
	}
	longtest.Wide(8)
	goleak.VerifyTestMain(m)
}

func engine(t testing.TB, cfg docker.Config) *docker.Engine {
	t.Helper()
	var err error
	if cfg.Binary, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	cfg.Image = image
	e, err := docker.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
	workspacetest.Need(t, e, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	return e
}

func TestConformance(t *testing.T) {
	longtest.Leave(t)
	for _, tt := range []struct {
		name string
		copy bool
	}{{"overlay", false}, {"copy", true}} {
		t.Run(tt.name, func(t *testing.T) {
			workspacetest.Run(t, workspacetest.Subject{Engine: engine(t, docker.Config{Copy: tt.copy}), Wall: true, Copied: tt.copy})
		})
	}
}
