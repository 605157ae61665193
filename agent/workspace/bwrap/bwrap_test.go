package bwrap_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
)

func TestMain(m *testing.M) {
	if workspacetest.Toolhost(os.Environ()) {
		return
	}
	goleak.VerifyTestMain(m)
}

func engine(t testing.TB, cfg bwrap.Config) *bwrap.Engine {
	t.Helper()
	var err error
	if cfg.Binary, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	e, err := bwrap.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	workspacetest.Need(t, e, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	return e
}

func TestConformance(t *testing.T) {
	for _, tt := range []struct {
		name string
		copy bool
	}{{"overlay", false}, {"copy", true}} {
		t.Run(tt.name, func(t *testing.T) {
			workspacetest.Run(t, workspacetest.Subject{Engine: engine(t, bwrap.Config{Copy: tt.copy}), Wall: true})
		})
	}
}
