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

// composed is a Compose file of docs/deploy with a key, a password and the image of
// this tree, in a directory of its own.
type composed struct {
	t    *testing.T
	dir  string
	tool []string
}

func newComposed(t *testing.T, file string) *composed {
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
		"override.yaml": "services:\n  handrail: {image: " + composeImage + "}\n" + map[bool]string{true: "  workspaces: {image: " + composeImage + "}\n"}[file == "compose.bwrap.yaml"],
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Another server may have the port.
	text := strings.Replace(document(t, "docs/deploy/"+file), "127.0.0.1:8080:8080", "127.0.0.1::8080", 1)
	if file == "compose.yaml" { // the directory of the machine is another one, and the database a file in it
		text = strings.ReplaceAll(text, "/var/lib/handrail", filepath.Join(c.dir, "lib"))
	}
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
	c := newComposed(t, "compose.bwrap.yaml")
	c.run("up", "-d", "--no-build", "--no-deps", "workspaces")
	c.run("up", "-d", "--no-build", "--no-deps", "handrail")
	c.ready()
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

// ready waits until the server answers.
func (c *composed) ready() {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); pause(200 * time.Millisecond) {
		cmd := exec.CommandContext(c.t.Context(), "docker", "exec", containerOf(c, "handrail"), "handrail", "serve", "--check", "--listen", ":8080")
		if cmd.Run() == nil {
			return
		}
	}
	c.t.Fatalf("the server is not ready:\n%s", c.run("logs"))
}

// TestComposeDocker starts the server as docs/deploy says, and has a session work in a
// container that docker makes, from end to end.
func TestComposeDocker(t *testing.T) {
	c := newComposed(t, "compose.yaml")
	lib := filepath.Join(c.dir, "lib")
	env := filepath.Join(c.dir, ".env")
	if err := os.WriteFile(env, []byte("HANDRAIL_DATABASE="+lib+"/data/handrail.db\nHANDRAIL_WEBHOOK_SECRET=only-a-test\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	config := strings.ReplaceAll(document(t, "docs/deploy/handrail.yaml"), "/var/lib/handrail", lib)
	if err := os.WriteFile(filepath.Join(c.dir, "handrail.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{c.dir, filepath.Dir(c.dir), filepath.Dir(filepath.Dir(c.dir))} { // the user inside reaches its files
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.run("up", "-d", "--no-build", "--no-deps", "handrail")
	c.ready()
	if err := os.MkdirAll(filepath.Join(lib, "demo"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := c.run("exec", "-T", "-e", "TMPDIR="+lib+"/demo", "handrail", lib+"/bin/handrail", "demo", "--workspace", "docker")
	if !strings.Contains(out, "workspace   docker") {
		t.Errorf("the demo says:\n%s", out)
	}
}

func containerOf(c *composed, service string) string {
	id, _, _ := strings.Cut(strings.TrimSpace(c.run("ps", "-q", service)), "\n")
	return id
}
