package bwrap_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestMain(m *testing.M) {
	if workspacetest.Toolhost(os.Environ()) {
		return
	}
	if port := os.Getenv("HANDRAIL_TEST_SERVE"); port != "" {
		serve(port)
	}
	if os.Getenv("HANDRAIL_TEST_CHECK") != "" {
		checkOnly()
	}
	longtest.Wide(8)
	goleak.VerifyTestMain(m)
}

// checkOnly prints what Check says of the system that this process sees.
func checkOnly() {
	self, err := os.Executable()
	if err == nil {
		var e *bwrap.Engine
		if e, err = bwrap.New(context.Background(), bwrap.Config{Binary: self}); err == nil {
			err = e.Check(context.Background())
		}
	}
	fmt.Fprintln(os.Stdout, "check:", err)
	os.Exit(0)
}

func engine(t testing.TB, cfg bwrap.Config) *bwrap.Engine {
	t.Helper()
	var err error
	if cfg.Binary, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	e, err := bwrap.New(t.Context(), cfg)
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
			if tt.copy {
				longtest.Leave(t)
			}
			workspacetest.Run(t, workspacetest.Subject{Engine: engine(t, bwrap.Config{Copy: tt.copy}), Wall: true, Copied: tt.copy})
		})
	}
}

// A server that was started with nice opens workspaces, too.
func TestNice(t *testing.T) {
	longtest.Leave(t)
	engine(t, bwrap.Config{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"10", "19"} {
		out, err := exec.CommandContext(t.Context(), "nice", "-n", by, self, "-test.run=^TestConformance$/^overlay$/^find$", "-test.v").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestConformance/overlay/find") {
			t.Errorf("nice -n %s: %v\n%s", by, err, out)
		}
	}
}

// In a container that hides parts of /proc no sandbox can mount its own; that
// must be known before a session starts, with words that help.
func TestCheckWhereProcIsHidden(t *testing.T) {
	engine(t, bwrap.Config{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(before string) string {
		cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", before+` && exec "$0"`, self)
		if os.Geteuid() == 0 { // as in a container, whose root has no namespace of its own
			cmd.Args = append([]string{"unshare", "--mount"}, cmd.Args[4:]...)
		}
		cmd.Env = append(os.Environ(), "HANDRAIL_TEST_CHECK=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := ask("true"); !strings.Contains(got, "check: <nil>") {
		t.Fatalf("with the whole of /proc: %s", got)
	}
	if got := ask("mount -t tmpfs hidden /proc/driver"); !strings.Contains(got, "systempaths=unconfined") {
		t.Errorf("with a part of /proc hidden: %s", got)
	}
}
