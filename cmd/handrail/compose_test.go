package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// composeImage is what .ci/image builds.
const composeImage = "handrail:ci"

// composed is docs/deploy/compose.yaml with a key, a password and the image of
// this tree, in a directory of its own.
type composed struct {
	t    *testing.T
	dir  string
	tool []string
}

func newComposed(t *testing.T) *composed {
	t.Helper()
	c := &composed{t: t, dir: filepath.Join(t.TempDir(), "handrail-test-compose"), tool: []string{"docker", "compose"}}
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() != nil {
		c.tool = []string{"docker-compose"}
	}
	version, _ := exec.CommandContext(t.Context(), c.tool[0], append(c.tool[1:], "version", "--short")...).Output() // tried again below
	if strings.HasPrefix(string(version), "1.") {
		missing(t, "compose", "this is version %s, and only the second can show a container the whole of its /proc; .ci/setup --full installs it", strings.TrimSpace(string(version)))
	}
	for _, needs := range [][]string{append(c.tool, "version", "--short"), {"docker", "image", "inspect", composeImage}} {
		if out, err := exec.CommandContext(t.Context(), needs[0], needs[1:]...).CombinedOutput(); err != nil {
			missing(t, "compose", "%s: %v: %s", strings.Join(needs, " "), err, out)
		}
	}
	if err := os.CopyFS(c.dir, os.DirFS("../../docs/deploy")); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(keyFile(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"app.pem": string(key), "postgres_password": "x",
		".env":          "HANDRAIL_DATABASE=/var/lib/handrail/data/handrail.db\nHANDRAIL_WEBHOOK_SECRET=only-a-test\n",
		"override.yaml": "services:\n  handrail: {image: " + composeImage + "}\n  workspaces: {image: " + composeImage + "}\n",
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Another server may have the port.
	text := strings.Replace(document(t, "docs/deploy/compose.yaml"), "127.0.0.1:8080:8080", "127.0.0.1::8080", 1)
	if err := os.WriteFile(filepath.Join(c.dir, "compose.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.run("down", "-v", "--timeout", "5") })
	return c
}

func (c *composed) run(args ...string) string {
	c.t.Helper()
	all := slices.Concat(c.tool, []string{"-f", "compose.yaml", "-f", "override.yaml"}, args)
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Errorf("%s: %v:\n%s", strings.Join(all, " "), err, out)
	}
	return string(out)
}

// TestCompose starts the server and its workspaces as docs/deploy says, on a
// database in a file, and has a session work there from end to end.
func TestCompose(t *testing.T) {
	c := newComposed(t)
	c.run("up", "-d", "--no-build", "--no-deps", "workspaces")
	c.run("up", "-d", "--no-build", "--no-deps", "handrail")
	ready := false
	for end := time.Now().Add(30 * time.Second); !ready && time.Now().Before(end); pause(200 * time.Millisecond) {
		cmd := exec.CommandContext(t.Context(), "docker", "exec", containerOf(c, "handrail"), "handrail", "serve", "--check", "--listen", ":8080")
		ready = cmd.Run() == nil
	}
	if !ready {
		t.Fatalf("the server is not ready:\n%s", c.run("logs"))
	}
	type container struct {
		Config     struct{ Env []string }
		HostConfig struct {
			Memory, NanoCpus int64
			PidsLimit        int64
			NetworkMode      string
			CapDrop          []string
			SecurityOpt      []string
		}
	}
	look := func(service string) container {
		out, err := exec.CommandContext(t.Context(), "docker", "inspect", containerOf(c, service)).Output()
		var found []container
		if err == nil {
			err = json.Unmarshal(out, &found)
		}
		if err != nil || len(found) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		h := found[0].HostConfig
		if h.Memory <= 0 || h.NanoCpus <= 0 || h.PidsLimit <= 0 || !slices.Contains(h.CapDrop, "ALL") || slices.Contains(h.SecurityOpt, "seccomp=unconfined") {
			t.Errorf("%s: %+v", service, h)
		}
		return found[0]
	}
	server, code := look("handrail"), look("workspaces")
	for _, opt := range server.HostConfig.SecurityOpt {
		if strings.Contains(opt, "unconfined") || strings.Contains(opt, "seccomp") {
			t.Errorf("the server has %s", opt)
		}
	}
	if code.HostConfig.NetworkMode != "none" || strings.Contains(strings.Join(code.Config.Env, " "), "HANDRAIL") {
		t.Errorf("the code's container has a network, or what is the server's: %+v", code)
	}
	out := c.run("run", "--rm", "--no-deps", "-T", "-e", "TMPDIR=/var/lib/handrail/data/work", "handrail", "demo", "--workspace", "unix:/run/handrail/workspaces.sock")
	if !strings.Contains(out, "workspace   bwrap") {
		t.Errorf("the demo says:\n%s", out)
	}
}

func containerOf(c *composed, service string) string {
	id, _, _ := strings.Cut(strings.TrimSpace(c.run("ps", "-q", service)), "\n")
	return id
}
