package docker_test

import (
	"os"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
)

// While the engine's own image is missing, workspaces run on the programs of this machine.
// An image that the workspace itself names has no substitute.
func TestSpare(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	newEngine := func(cfg docker.Config) *docker.Engine {
		cfg.Binary = self
		e, err := docker.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	workspacetest.Need(t, newEngine(docker.Config{}), os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	e := newEngine(docker.Config{Image: "handrail-not-there:1", Spare: &workspace.Machine{}})
	if err := e.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "handrail-not-there:1") {
		t.Errorf("a check does not name the missing image: %v", err)
	}
	if !e.OnMachine(t.Context()) {
		t.Fatal("this machine's programs are not taken")
	}
	if newEngine(docker.Config{Image: "handrail-not-there:1"}).OnMachine(t.Context()) {
		t.Error("this machine's programs are taken without being offered")
	}
	known, err := e.Programs(t.Context(), workspace.Spec{})
	if err != nil || known != workspace.Programs("") {
		t.Errorf("programs %q, %v", known, err)
	}
	ws := workspacetest.Open(t, workspacetest.Subject{Engine: e, Wall: true}, workspacetest.Tree{"a.txt": "a"})
	res, err := ws.Run(t.Context(), workspace.Command{Line: "cat a.txt; git --version; echo x >/usr/new; ls /root /var/run/docker.sock"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(res.Output, "agit version") || strings.Count(res.Output, "Read-only file system")+strings.Count(res.Output, "No such file") < 3 {
		t.Errorf("it says\n%s", res.Output)
	}
	if _, err := e.Programs(t.Context(), workspace.Spec{Image: "handrail-not-there:2"}); err == nil {
		t.Error("an image that a workspace names has a substitute")
	}
}
