package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"
)

// acted are the stories that nektos/act runs too: a workflow of docs/action on the
// steps of action.yml, with the program as it is released.
var acted = map[actMode][]string{
	onHost:      {"", "_crash", "_denied", "_examples", "_review", "_sealed", "_stop", "_two", "_walls"},
	inContainer: {"", "_crash", "_walls"},
}

// actMode is how act runs jobs: on this machine, or in a container.
type actMode string

const (
	onHost      actMode = "host"
	inContainer actMode = "container"
)

// containerImage is what jobs in containers run in; .ci/workspace-image makes it.
const containerImage = "handrail-workspace:local"

func TestAct(t *testing.T) {
	for _, mode := range []actMode{onHost, inContainer} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			act := needsAct(t, mode)
			files := make([]string, len(acted[mode]))
			for i, name := range acted[mode] {
				files[i] = "../../testdata/script/serve_action" + name + ".txtar"
			}
			stories := scriptParams(t, act)
			stories.Dir, stories.Files = "", files
			testscript.Run(t, stories)
		})
	}
}

// actRunner has nektos/act run workflows.
type actRunner struct {
	mode   actMode
	action string // directory of the action
	tree   string // an empty repository to run in
}

// needsAct skips a test where act is missing, or what its mode needs.
func needsAct(t *testing.T, mode actMode) *actRunner {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), ","), "act") { // actionlint is another
		t.Skip("it runs where HANDRAIL_REQUIRE_ENGINES has act: workflows take a minute")
	}
	if _, err := exec.LookPath("act"); err != nil {
		missing(t, "act", "%v: .ci/setup --workflows installs it", err)
	}
	if err := exec.CommandContext(t.Context(), "docker", "image", "inspect", containerImage).Run(); mode == inContainer && err != nil {
		missing(t, "act", "%s: %v: .ci/workspace-image makes it", containerImage, err)
	}
	dir, err := released()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(web.Close)
	a := &actRunner{mode: mode, action: t.TempDir(), tree: t.TempDir()}
	text := document(t, "action.yml")
	for from, to := range map[string]string{
		"is that build.\n    default: auto":    "is that build.\n    default: v0.0.1",
		"action's own repository otherwise.\n": "action's own repository otherwise.\n    default: " + web.URL + "\n",
	} {
		if strings.Count(text, from) != 1 {
			t.Fatalf("action.yml has %q %d times", from, strings.Count(text, from))
		}
		text = strings.Replace(text, from, to, 1)
	}
	script := filepath.Join(a.action, ".github/actions/install")
	err = errors.Join(commit(t, a.tree), os.WriteFile(filepath.Join(a.action, "action.yml"), []byte(text), 0o600),
		os.MkdirAll(filepath.Dir(script), 0o700), os.WriteFile(script, []byte(document(t, ".github/actions/install")), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func commit(t *testing.T, dir string) error {
	var all error
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=Test", "-c", "user.email=test@example.invalid", "commit", "-q", "--allow-empty", "-m", "start"}} {
		all = errors.Join(all, exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).Run())
	}
	return all
}

// released builds a release, and returns the directory that it is served from.
var released = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "handrail-release-")
	if err != nil {
		return "", err
	}
	at, name := filepath.Join(dir, "v0.0.1"), "handrail_0.0.1_linux_"+runtime.GOARCH+".tar.gz"
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(at, "handrail"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	pack := exec.Command("tar", "-czf", name, "handrail")
	sum := exec.Command("sha256sum", name)
	var sums bytes.Buffer
	sum.Stdout = &sums
	pack.Dir, sum.Dir = at, at
	for _, cmd := range []*exec.Cmd{build, pack, sum} {
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%s: %w", cmd.Path, err)
		}
	}
	return dir, os.WriteFile(filepath.Join(at, "checksums.txt"), sums.Bytes(), 0o600)
})

// told prints what the action told later steps, in the way in which it told it.
const told = `for name in session-id state branch pull-request summary approval-ids; do
  value=$(printenv "OUT_$name" || true)
  printf '%s<<handrail-told\n%s\nhandrail-told\n' "$name" "$value"
done
cat "$GITHUB_STEP_SUMMARY"`

// workflow returns a file of docs/action with the addresses of a story in it, and a
// step that shows what came of the action.
func workflow(text, name string, contained bool, inputs map[string]string) ([]byte, error) {
	var file struct {
		Name string
		On   yaml.Node
		Jobs map[string]map[string]any
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return nil, err
	}
	for _, job := range file.Jobs {
		steps, _ := job["steps"].([]any)
		for _, s := range steps {
			step, _ := s.(map[string]any)
			if uses, _ := step["uses"].(string); !strings.HasPrefix(uses, "handrail-bot/handrail@") {
				continue
			}
			step["id"] = "agent"
			with, _ := step["with"].(map[string]any)
			for name, value := range inputs {
				with[name] = value
			}
			env := map[string]string{}
			for _, name := range []string{"session-id", "state", "branch", "pull-request", "summary", "approval-ids"} {
				env["OUT_"+name] = "${{ steps.agent.outputs." + name + " }}"
			}
			if contained { // as systempaths=unconfined does, which act does not hand on
				steps = append([]any{map[string]any{"shell": "bash", "run": "mount -t proc proc /proc"}}, steps...)
			}
			job["steps"] = append(steps, map[string]any{"if": "always()", "shell": "bash", "env": env, "run": told})
		}
	}
	return yaml.Marshal(map[string]any{"name": file.Name + " " + name, "on": &file.On, "jobs": file.Jobs})
}

// example takes inputs and events from a workflow of docs/action. Addresses and the
// model's name are those of the story.
func (r *runner) example(name string) error {
	text, err := os.ReadFile("../../docs/action/" + name)
	if err != nil {
		return err
	}
	var file struct {
		On   map[string]any
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return err
	}
	r.on = nil
	for event, how := range file.On {
		types, _ := how.(map[string]any)
		list, _ := types["types"].([]any)
		for _, t := range list {
			r.on = append(r.on, fmt.Sprint(event, " ", t))
		}
	}
	for _, job := range file.Jobs {
		for _, step := range job.Steps {
			for in, value := range step.With {
				if strings.HasPrefix(step.Uses, "handrail-bot/") && !slices.Contains([]string{"model", "ollama", "base-url", "api-key", "state-key"}, in) {
					r.env = append(r.env, "INPUT_"+strings.ToUpper(in)+"="+value)
				}
			}
		}
	}
	r.env = append(r.env, "EXAMPLE="+name)
	return nil
}

// TestExamples: actionlint finds nothing in the workflows of docs/action, and the
// action has every input that they give.
func TestExamples(t *testing.T) {
	t.Parallel()
	var has struct{ Inputs map[string]any }
	if err := yaml.Unmarshal([]byte(document(t, "action.yml")), &has); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../docs/action/*.yml")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, name := range files {
		var r runner
		if err := r.example(filepath.Base(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, v := range r.env {
			in, _, _ := strings.Cut(v, "=")
			if in, ok := strings.CutPrefix(in, "INPUT_"); ok && has.Inputs[strings.ToLower(in)] == nil {
				t.Errorf("%s: the action has no input %s", name, strings.ToLower(in))
			}
		}
	}
	if _, err := exec.LookPath("actionlint"); err != nil {
		missing(t, "actionlint", "%v: .ci/setup --full installs it", err)
	}
	labels := filepath.Join(t.TempDir(), "actionlint.yaml")
	if err := os.WriteFile(labels, []byte("self-hosted-runner: {labels: [gpu]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "actionlint", append([]string{"-config-file", labels, "-shellcheck=", "-pyflakes="}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFirstExample: the example that newcomers copy needs no runner, GPU or model of theirs.
func TestFirstExample(t *testing.T) {
	t.Parallel()
	first := regexp.MustCompile(`\((\w+\.yml)\)`).FindStringSubmatch(document(t, "docs/action/README.md"))
	if first == nil {
		t.Fatal("docs/action/README.md names no example")
	}
	var file struct {
		Jobs map[string]struct {
			On       string `yaml:"runs-on"`
			Services map[string]struct{ Ports []string }
			Steps    []struct{ With map[string]string }
		}
	}
	if err := yaml.Unmarshal([]byte(document(t, "docs/action/"+first[1])), &file); err != nil || len(file.Jobs) != 1 {
		t.Fatalf("%d jobs: %v", len(file.Jobs), err)
	}
	for _, job := range file.Jobs {
		port, at := "none", job.Steps[len(job.Steps)-1].With["ollama"]
		for _, s := range job.Services {
			port = s.Ports[0]
		}
		if job.On != "ubuntu-latest" || !strings.HasPrefix(port, strings.TrimPrefix(at, "http://")+":") {
			t.Errorf("%s runs on %s and asks %s, beside a service at %s", first[1], job.On, at, port)
		}
	}
}

// command runs the workflow in place of the action alone. What its steps say is written
// to words.
func (a *actRunner) command(alone *exec.Cmd, words io.Writer) (*exec.Cmd, io.WriteCloser, error) {
	name := "comments.yml"
	for _, v := range alone.Env {
		if example, ok := strings.CutPrefix(v, "EXAMPLE="); ok {
			name = example
		}
	}
	example, err := os.ReadFile("../../docs/action/" + name)
	if err != nil {
		return nil, nil, err
	}
	var env, args []string
	var event string
	inputs := map[string]string{}
	for _, v := range alone.Env {
		name, value, _ := strings.Cut(v, "=")
		in, ok := strings.CutPrefix(name, "INPUT_")
		switch {
		case in == "TOKEN":
			args = append(args, "-s", "GITHUB_TOKEN="+value)
		case in == "WORKSPACE": // what the action chooses
		case ok:
			inputs[strings.ToLower(in)] = value
		case name == "GITHUB_EVENT_NAME":
			event = value
		case name == "GITHUB_ACTOR":
			args = append(args, "--actor", value)
		case slices.Contains([]string{"GITHUB_EVENT_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"}, name): // act has its own
		case strings.HasPrefix(name, "GITHUB_"):
			args = append(args, "--env", v)
		case !strings.HasPrefix(name, "RUNNER_"):
			env = append(env, v)
		}
	}
	text, err := workflow(string(example), filepath.ToSlash(alone.Dir), a.mode == inContainer, inputs) // containers are named after it
	if err != nil {
		return nil, nil, err
	}
	in := func(name string) string { return filepath.Join(alone.Dir, name) }
	for _, name := range []string{"conf", "cache"} {
		err = errors.Join(err, os.MkdirAll(in(name), 0o700))
	}
	if err = errors.Join(err, os.WriteFile(in("agent.yml"), text, 0o600)); err != nil {
		return nil, nil, err
	}
	platform := "-self-hosted"
	if a.mode == inContainer {
		platform = containerImage
	}
	cmd := exec.Command("act", append(args, event, "--json", "-C", a.tree, "-W", in("agent.yml"), "-e", in("event.json"), "--no-cache-server", "--pull=false", "--rm",
		"-P", "self-hosted="+platform, "-P", "gpu="+platform, "--local-repository", "handrail-bot/handrail@v1="+a.action, "--action-cache-path", in("cache"),
		"--container-options", "--cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined --label handrail.story="+storyOf(alone.Dir))...)
	cmd.Env = append(env, "XDG_CONFIG_HOME="+in("conf"), "XDG_CACHE_HOME="+in("cache"))
	out := speak(words)
	cmd.Dir, cmd.Stdout, cmd.Stderr = alone.Dir, out, out
	return cmd, out, nil
}

// storyOf returns the name of the story that has this directory of a run.
func storyOf(dir string) string { return filepath.Base(filepath.Dir(filepath.Dir(dir))) }

// sweep removes containers that act was killed in front of.
func (a *actRunner) sweep(story string) error {
	if a.mode != inContainer {
		return nil
	}
	const script = `for c in $(docker ps -aq --filter "label=handrail.story=$1"); do
  volumes=$(docker inspect -f '{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}} {{end}}{{end}}' "$c")
  docker rm -f "$c" && for v in $volumes; do [ "$v" = act-toolcache ] || docker volume rm "$v"; done
done`
	if out, err := exec.Command("sh", "-c", script, "sweep", story).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// nopCloser is a writer that stays open.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// spoken writes what steps of a workflow say, taken from what act prints.
type spoken struct {
	to   io.Writer
	pipe *io.PipeWriter
	done chan error
}

func speak(to io.Writer) *spoken {
	r, w := io.Pipe()
	s := &spoken{to: to, pipe: w, done: make(chan error, 1)}
	go func() {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var line struct {
				Msg string
				Raw bool `json:"raw_output"`
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				line.Msg = lines.Text() + "\n"
			}
			if !line.Raw {
				line.Msg = "act: " + strings.TrimSpace(line.Msg) + "\n"
			}
			_, _ = io.WriteString(to, line.Msg)
		}
		s.done <- lines.Err()
	}()
	return s
}

func (s *spoken) Write(data []byte) (int, error) { return s.pipe.Write(data) }

// Close waits until everything is written.
func (s *spoken) Close() error { return errors.Join(s.pipe.Close(), <-s.done) }

// killAction ends the action of a run, wherever act has put it: the process with these
// variables, which no other has.
func killAction(url string, id int) error {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	killed := 0
	for _, name := range all {
		env, _ := os.ReadFile(name) // it may be gone
		vars := strings.Split(string(env), "\x00")
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(name), "exe"))
		if err != nil || filepath.Base(exe) != "handrail" || !slices.Contains(vars, "GITHUB_API_URL="+url) || !slices.Contains(vars, "GITHUB_RUN_ID="+strconv.Itoa(id)) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return err
		}
		killed++
	}
	if killed == 0 {
		return fmt.Errorf("no process of run %d was found", id)
	}
	return nil
}
