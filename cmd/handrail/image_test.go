package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace/docker/dockertest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// On GitHub people see which image commands run in and why, how far it is on its way,
// and, where it is not to be had, why that is and what to do.
func TestImageOnGitHub(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	if out, err := exec.CommandContext(t.Context(), "docker", "version").CombinedOutput(); err != nil {
		missing(t, "docker", "%v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := dockertest.New(t)
	_, name := r.Put(t, "acme/tool:1", dockertest.Layer(t, "bash", self))
	t.Cleanup(func() { // it may not have come
		_ = exec.CommandContext(context.WithoutCancel(t.Context()), "docker", "rmi", "-f", name).Run()
	})
	s := newStory(t, map[string]string{"a.txt": "a\n", ".devcontainer.json": "{\"image\": \"" + name + "\", \"features\": {\"acme/tools:1\": {}}}\n"}, `
- calls: [{name: run_terminal_command, arguments: {command: "echo made for $MADE_FOR >a.txt"}}]
- say: "Done. [TASK_COMPLETE]"
`)
	s.stop()
	s.cfg.Workspace, s.cfg.Policy.Workspace.Image = "docker", strings.Replace(name, ":1", ":2", 1)
	s.start()
	s.say("you", "/agent write down what it is made for")
	if told := s.until("I could not go on"); !containsAllOf(told, []string{"does not have the container image `" + s.cfg.Policy.Workspace.Image, "a maintainer can name another one", "`/agent retry`"}) {
		t.Fatalf("it is told:\n%s", told)
	}

	held := r.Hold()
	defer held.Release()
	s.stop()
	s.cfg.Policy.Workspace.Image, s.cfg.Policy.Workspace.Images = "", []string{r.Address + "/acme/*"}
	s.start()
	s.say("you", "/agent retry")
	s.until("Preparing the workspace: `pulling image " + name)
	held.Release()
	s.until("Done.", "Commands run in the image `"+name+"`: .devcontainer.json names it", "features (acme/tools:1), which are left out")
	s.has(storyBranch, map[string]string{"a.txt": "made for acme/tool:1\n"})
}
