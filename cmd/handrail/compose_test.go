package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	compose "github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// composeImage is what .ci/image builds.
const composeImage = "handrail:ci"

// composed are the services of a Compose file of docs/deploy, with a key, a password and
// the image of this tree, in a directory of their own. They are started with docker run:
// Compose itself would have to be compiled.
type composed struct {
	t       *testing.T
	dir     string
	project *types.Project
}

func newComposed(t *testing.T, file string) *composed {
	t.Helper()
	needs := []string{"docker", "image", "inspect", composeImage}
	if out, err := exec.CommandContext(t.Context(), needs[0], needs[1:]...).CombinedOutput(); err != nil {
		missing(t, "compose", "%s: %v: %s", strings.Join(needs, " "), err, out)
	}
	c := &composed{t: t, dir: filepath.Join(t.TempDir(), "handrail-test-compose")}
	if err := os.CopyFS(c.dir, os.DirFS("../../docs/deploy")); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(keyFile(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	c.write("app.pem", string(key))
	c.write("postgres_password", "x")
	text := document(t, "docs/deploy/"+file)
	data := "/var/lib/handrail/data"
	if file == "compose.yaml" { // the directory of the machine is another one, and the database a file in it
		text = strings.ReplaceAll(text, "/var/lib/handrail", c.lib())
		data = filepath.Join(c.lib(), "data")
		c.write("handrail.yaml", strings.ReplaceAll(document(t, "docs/deploy/handrail.yaml"), "/var/lib/handrail", c.lib()))
	}
	c.write("compose.yaml", text)
	c.write(".env", "HANDRAIL_DATABASE="+data+"/handrail.db\nHANDRAIL_WEBHOOK_SECRET=only-a-test\n")
	options, err := compose.NewProjectOptions([]string{filepath.Join(c.dir, "compose.yaml")},
		compose.WithWorkingDirectory(c.dir), compose.WithName(fmt.Sprintf("handrail-test-%d-%s", os.Getpid(), strings.ToLower(t.Name()))),
		compose.WithEnvFiles(), compose.WithDotEnv)
	if err == nil {
		c.project, err = options.LoadProject(t.Context())
	}
	if err != nil {
		t.Fatalf("docs/deploy/%s: %v", file, err)
	}
	t.Cleanup(c.remove)
	return c
}

func (c *composed) lib() string { return filepath.Join(c.dir, "lib") }

func (c *composed) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// docker runs the program of that name in the directory of the files.
func (c *composed) docker(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("docker", args...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Errorf("docker %s: %v:\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// container returns the name of a service's container.
func (c *composed) container(service string) string { return c.project.Name + "-" + service }

// remove ends the containers, and removes their volumes.
func (c *composed) remove() {
	for _, service := range slices.Sorted(maps.Keys(c.project.Services)) {
		c.docker("rm", "--force", "--volumes", c.container(service))
	}
	for _, volume := range slices.Sorted(maps.Keys(c.project.Volumes)) {
		c.docker("volume", "rm", "--force", c.project.Volumes[volume].Name)
	}
}

// up starts a service, and waits until its check of health passes.
func (c *composed) up(service string, check ...string) {
	c.t.Helper()
	s := c.service(service)
	run := append([]string{"run", "--detach", "--name", c.container(service), "--restart", s.Restart}, c.flags(s)...)
	for _, p := range s.Ports { // another server may have the published port
		run = append(run, "--publish", fmt.Sprintf("%s::%d", p.HostIP, p.Target))
	}
	c.docker(append(append(run, composeImage), c.words(s)...)...)
	if s.HealthCheck != nil && s.HealthCheck.Test[0] == "CMD" {
		check = s.HealthCheck.Test[1:]
	}
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); pause(200 * time.Millisecond) {
		if exec.CommandContext(c.t.Context(), "docker", append([]string{"exec", c.container(service)}, check...)...).Run() == nil {
			return
		}
		state, err := exec.CommandContext(c.t.Context(), "docker", "inspect", "--format", "{{.State.Running}} {{.RestartCount}}", c.container(service)).Output()
		if err != nil || string(state) != "true 0\n" {
			break
		}
	}
	c.t.Fatalf("%s is not ready:\n%s", service, c.docker("logs", c.container(service)))
}

// translated are the keys of services that flags, words and up know, and those that have
// no meaning for a single container of an image that is there.
var translated = strings.Fields(`command entrypoint environment restart ports volumes user security_opt cap_drop cap_add
	mem_limit memswap_limit cpus pids_limit network_mode read_only stop_grace_period healthcheck
	build depends_on networks`)

// service returns one whose keys are all known here.
func (c *composed) service(name string) types.ServiceConfig {
	c.t.Helper()
	s, err := c.project.GetService(name)
	if err != nil {
		c.t.Fatal(err)
	}
	var keys map[string]any
	text, err := s.MarshalYAML()
	if err == nil {
		var data []byte
		if data, err = yaml.Dump(text); err == nil {
			err = yaml.Load(data, &keys)
		}
	}
	if err != nil {
		c.t.Fatal(err)
	}
	for key := range keys {
		if !slices.Contains(translated, key) {
			c.t.Fatalf("service %s has %s, which is not translated here", name, key)
		}
	}
	return s
}

// flags returns those of docker run that say the same as a service.
func (c *composed) flags(s types.ServiceConfig) (out []string) {
	each := func(flag string, values ...string) {
		for _, v := range values {
			if v != "" && v != "0" {
				out = append(out, flag+"="+v)
			}
		}
	}
	if len(s.Entrypoint) > 0 {
		each("--entrypoint", s.Entrypoint[0])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		each("--env", name+"="+*s.Environment[name])
	}
	for _, v := range s.Volumes {
		source, mode := v.Source, "rw"
		if v.Type == types.VolumeTypeVolume {
			source = c.project.Volumes[v.Source].Name
		}
		if v.ReadOnly {
			mode = "ro"
		}
		each("--volume", source+":"+v.Target+":"+mode)
	}
	each("--user", s.User)
	each("--security-opt", s.SecurityOpt...)
	each("--cap-drop", s.CapDrop...)
	each("--cap-add", s.CapAdd...)
	each("--memory", fmt.Sprint(int64(s.MemLimit)))
	each("--memory-swap", fmt.Sprint(int64(s.MemSwapLimit)))
	each("--cpus", fmt.Sprint(s.CPUS))
	each("--pids-limit", fmt.Sprint(s.PidsLimit))
	each("--network", s.NetworkMode)
	if s.ReadOnly {
		out = append(out, "--read-only")
	}
	if s.StopGracePeriod != nil {
		each("--stop-timeout", fmt.Sprint(int(time.Duration(*s.StopGracePeriod).Seconds())))
	}
	return out
}

// words returns the words behind the image: the rest of the entry point, and the command.
func (c *composed) words(s types.ServiceConfig) []string {
	if len(s.Entrypoint) > 0 {
		return slices.Concat(s.Entrypoint[1:], s.Command)
	}
	return s.Command
}

// checkServer is the health of a server, as its image asks for it.
var checkServer = []string{"handrail", "serve", "--check", "--listen", ":8080"}

// TestCompose starts the server and its workspaces as docs/deploy says, on a
// database in a file, and has a session work there from end to end.
func TestCompose(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	c := newComposed(t, "compose.bwrap.yaml")
	c.up("workspaces")
	c.up("handrail", checkServer...)
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
		var found []container
		out := c.docker("inspect", c.container(service))
		if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) != 1 {
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
		t.Errorf("the code's container has a network, or a secret of the server: %+v", code)
	}
	demo := slices.Concat([]string{"run", "--rm", "--env", "TMPDIR=/var/lib/handrail/data/work"}, c.flags(c.service("handrail")),
		[]string{composeImage, "demo", "--workspace", "unix:/run/handrail/workspaces.sock", "--timeout", "15m"})
	if out := c.docker(demo...); !strings.Contains(out, "workspace   bwrap") {
		t.Errorf("the demo says:\n%s", out)
	}
}

// TestComposeDocker starts the server as docs/deploy says, and has a session work in a
// container that docker makes, from end to end.
func TestComposeDocker(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	c := newComposed(t, "compose.yaml")
	for _, dir := range []string{c.dir, filepath.Dir(c.dir), filepath.Dir(filepath.Dir(c.dir))} { // the user inside reaches its files
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(c.lib(), "demo"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.up("handrail", checkServer...)
	out := c.docker("exec", "--env", "TMPDIR="+c.lib()+"/demo", c.container("handrail"), c.lib()+"/bin/handrail", "demo", "--workspace", "docker", "--timeout", "15m")
	if !strings.Contains(out, "workspace   docker") {
		t.Errorf("the demo says:\n%s", out)
	}
}
