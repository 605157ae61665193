package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace/docker/dockertest"
)

// On GitHub people see that an image is pulled, how far that is, and, where it is not to
// be had, why and what to do.
func TestImageOnGitHub(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "docker", "version").CombinedOutput(); err != nil {
		missing(t, "docker", "%v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newStory(t, map[string]string{"a.txt": "a\n"}, `
- calls: [{name: run_terminal_command, arguments: {command: "echo made for $MADE_FOR >a.txt"}}]
- say: "Done. [TASK_COMPLETE]"
`)
	r := dockertest.New(t)
	_, name := r.Put(t, "acme/tool:1", dockertest.Layer(t, "bash", self))
	t.Cleanup(func() { // it may not have come
		_ = exec.CommandContext(context.WithoutCancel(t.Context()), "docker", "rmi", "-f", name).Run()
	})
	s.stop()
	s.cfg.Workspace, s.cfg.Policy.Workspace.Image = "docker", strings.Replace(name, ":1", ":2", 1)
	s.start()
	s.say("you", "/agent write down what it is made for")
	s.until("there is no image for commands to run in", "its registry does not have it", "`/agent retry`")

	held := r.Hold()
	defer held.Release()
	s.stop()
	s.cfg.Policy.Workspace.Image = name
	s.start()
	s.say("you", "/agent retry")
	s.until("The workspace is being made: `pulling image " + name)
	held.Release()
	s.until("Done.")
	s.has(storyBranch, map[string]string{"a.txt": "made for acme/tool:1\n"})
}
