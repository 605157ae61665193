package docker_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestLayers: a fallback to copies must not hide that overlays have stopped
// working, and the image's toolchain is found.
func TestLayers(t *testing.T) {
	longtest.Leave(t)
	for name, copied := range map[string]bool{"overlay": false, "copy": true} {
		t.Run(name, func(t *testing.T) {
			if !copied && os.Geteuid() != 0 {
				t.Skip("NEEDS ROOT: overlays in docker are laid for root only")
			}
			s := workspacetest.Subject{Engine: engine(t, docker.Config{Copy: copied}), Wall: true}
			ws := workspacetest.Open(t, s, workspacetest.Tree{"go.mod": "module m\n"})
			res, err := ws.Run(t.Context(), workspace.Command{Line: "grep ' /workspace ' /proc/self/mountinfo; go version"}, nil)
			if err != nil || res.Exit != 0 || !strings.Contains(res.Output, "go1") {
				t.Fatalf("go inside: exit %d, %v\n%s", res.Exit, err, res.Output)
			}
			if overlay := strings.Contains(res.Output, "- overlay "); overlay == copied {
				t.Errorf("an overlay: %t\n%s", overlay, res.Output)
			}
		})
	}
}

// TestDeadOwner: a process that opened a workspace and was killed leaves no
// container behind.
func TestDeadOwner(t *testing.T) {
	e := engine(t, docker.Config{})
	if state := os.Getenv("DEAD_OWNER_STATE"); state != "" {
		if _, err := e.Open(t.Context(), workspace.Spec{Session: filepath.Base(state), State: state}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(state+".open", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		select {} // until it is killed
	}
	session := fmt.Sprintf("dead-%d", os.Getpid())
	state := filepath.Join(t.TempDir(), session)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDeadOwner$")
	cmd.Env = append(os.Environ(), "DEAD_OWNER_STATE="+state)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	opened := eventually(t.Context(), func() bool { _, err := os.Stat(state + ".open"); return err == nil })
	if !opened || count(t, session) != 1 {
		t.Errorf("the workspace of the other process: opened %t, %d containers: %s", opened, count(t, session), out.String())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if !eventually(t.Context(), func() bool { return count(t, session) == 0 }) {
		t.Error("the container has outlived its owner")
	}
}

// eventually asks until the answer is yes, unless it never is.
func eventually(ctx context.Context, ask func() bool) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for !ask() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// count counts the containers of a session.
func count(t *testing.T, session string) int {
	t.Helper()
	c, err := client.New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	list, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", "handrail.session="+session)})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}
