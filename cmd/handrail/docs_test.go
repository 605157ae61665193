package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy"
)

func document(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestTourDocs: the places that doc.go names exist.
func TestTourDocs(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`\b(?:cmd|bot|agent|gitops|policy|docs|testdata)(?:/[a-z_-]+)+(?:\.go|\.md)?`).
		FindAllString(document(t, "cmd/handrail/doc.go"), -1)
	if len(named) < 20 {
		t.Errorf("the tour names %d places", len(named))
	}
	for _, name := range named {
		if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
			t.Errorf("the tour in doc.go names %s, which there is not", name)
		}
	}
}

// keyPaths lists the keys of a configuration: "model.can.tools".
func keyPaths(t reflect.Type, prefix string) (list []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, how, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if how == "inline" {
			list = append(list, keyPaths(f.Type, prefix)...)
		}
		if key == "" || key == "-" {
			continue
		}
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[policy.Config]() {
			list = append(list, keyPaths(f.Type, prefix+key+".")...)
			continue
		}
		list = append(list, prefix+key)
	}
	return list
}

// TestEveryKeyIsDocumented holds docs/configuration.md to the code.
func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	text := document(t, "docs/configuration.md")
	server, repository, ok := strings.Cut(text, "## A repository's file")
	if !ok {
		t.Fatal("docs/configuration.md has no part about a repository's file")
	}
	for _, c := range []struct {
		part string
		keys []string
	}{{server, keyPaths(reflect.TypeFor[config.Server](), "")}, {repository, keyPaths(reflect.TypeFor[policy.Config](), "")}, {repository, keyPaths(reflect.TypeFor[policy.Schedule](), "schedules.")}} {
		for _, key := range c.keys {
			group := key[:max(0, strings.LastIndex(key, "."))]
			if !strings.Contains(c.part, "`"+key+"`") && (group != "budget.thread" && group != "budget.user_day" || !strings.Contains(c.part, "`"+group+"`")) {
				t.Errorf("docs/configuration.md does not explain %s: add a row with `%[1]s`", key)
			}
		}
	}
	known := strings.Join(append(keyPaths(reflect.TypeFor[config.Server](), ""), keyPaths(reflect.TypeFor[policy.Config](), "")...), " ")
	known += " " + strings.Join(keyPaths(reflect.TypeFor[policy.Schedule](), "schedules."), " ")
	known += " description arguments" // of the front matter of a repository's own command
	for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(text, -1) {
		for _, key := range regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(m[1], -1) {
			if !strings.Contains(known, key[1]) {
				t.Errorf("docs/configuration.md explains %s, which there is not", key[1])
			}
		}
	}
	for _, name := range []string{"handrail/models.go", "config/config.go", "config/model.go", "handrail/serve.go", "handrail/run.go", "handrail/main.go"} {
		for _, v := range regexp.MustCompile(`\b(HANDRAIL_[A-Z_]+|OLLAMA_HOST|OPENAI_API_KEY|XDG_STATE_HOME)\b`).FindAllString(document(t, "cmd/"+name), -1) {
			if plain := strings.TrimSuffix(v, "_FILE"); !strings.Contains(text, v) && !strings.Contains(text, "`"+plain+"`") {
				t.Errorf("docs/configuration.md does not explain %s", v)
			}
		}
	}
}

// TestDocumentedExamples checks every YAML block of the documents with the
// program itself, and runs every `handrail policy explain` line.
func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	key := keyFile(t, "")
	for _, name := range []string{"docs/configuration.md", "docs/cli.md", "docs/dependencies.md", "README.md"} {
		text := document(t, name)
		for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1) {
			block := strings.ReplaceAll(m[1], "/etc/handrail/app.pem", key)
			args := []string{"config", "check", configFile(t, block)}
			if strings.Contains(block, "listen:") {
				args = append(args, "--server")
			}
			if _, errs, code := atDoor(t, "", args...); code != exitDone {
				t.Errorf("%s: an example is not accepted: %s\n%s", name, errs, block)
			}
		}
		for _, line := range regexp.MustCompile(`(?m)^(handrail (?:policy explain|tools list|config schema|version)[^\n]*)$`).FindAllString(text, -1) {
			t.Run(name+" "+line, func(t *testing.T) { runsAsShown(t, line) })
		}
	}
}

func runsAsShown(t *testing.T, line string) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".github"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".github/agent.yml"), []byte("mode: code\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is the program when it is called by its name.
	bin := filepath.Join(dir, "handrail")
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(line, "handrail", "./handrail", 1))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
}

// TestCodeHasLimitsOfItsOwn: in what docs/deploy ships for containers, what makes
// workspaces has limits of its own, no secret, and alone a profile of its own.
func TestCodeHasLimitsOfItsOwn(t *testing.T) {
	t.Parallel()
	type container struct {
		Name, Image     string
		Args            []string
		Env             []map[string]any
		VolumeMounts    []map[string]any `yaml:"volumeMounts"`
		Resources       struct{ Requests, Limits map[string]string }
		SecurityContext struct {
			ProcMount      string                  `yaml:"procMount"`
			SeccompProfile struct{ Type string }   `yaml:"seccompProfile"`
			Capabilities   struct{ Drop []string } `yaml:"capabilities"`
		} `yaml:"securityContext"`
	}
	var pods []container
	decoder := yaml.NewDecoder(strings.NewReader(document(t, "docs/deploy/kubernetes.yaml")))
	for {
		var doc struct {
			Kind string
			Spec struct {
				Template struct {
					Spec struct{ Containers []container }
				}
			}
		}
		if err := decoder.Decode(&doc); err != nil {
			break
		}
		if doc.Kind == "Deployment" {
			pods = doc.Spec.Template.Spec.Containers
		}
	}
	if len(pods) != 2 {
		t.Fatalf("%d containers in a pod", len(pods))
	}
	for _, c := range pods {
		code := c.Args[0] == "workspaces"
		profile := map[bool]string{true: "Localhost", false: "RuntimeDefault"}[code]
		if c.Resources.Limits["memory"] == "" || c.Resources.Limits["cpu"] == "" || c.SecurityContext.SeccompProfile.Type != profile ||
			(c.SecurityContext.ProcMount != "") != code || !slices.Contains(c.SecurityContext.Capabilities.Drop, "ALL") || code && len(c.Env) > 0 {
			t.Errorf("kubernetes.yaml: %+v", c)
		}
	}
	var compose struct {
		Services map[string]struct {
			MemLimit    string   `yaml:"mem_limit"`
			PidsLimit   int      `yaml:"pids_limit"`
			CPUs        float64  `yaml:"cpus"`
			NetworkMode string   `yaml:"network_mode"`
			SecurityOpt []string `yaml:"security_opt"`
			CapDrop     []string `yaml:"cap_drop"`
			Environment map[string]string
		}
	}
	if err := yaml.Load([]byte(document(t, "docs/deploy/compose.bwrap.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"handrail", "workspaces"} {
		s, all := compose.Services[name], strings.Join(compose.Services[name].SecurityOpt, " ")
		if s.MemLimit == "" || s.PidsLimit <= 0 || s.CPUs <= 0 || !slices.Contains(s.CapDrop, "ALL") || strings.Contains(all, "seccomp=unconfined") {
			t.Errorf("compose.bwrap.yaml: %s: %+v", name, s)
		}
		if code := name == "workspaces"; strings.Contains(all, "unconfined") != code || (s.NetworkMode == "none") != code || (len(s.Environment) == 0) != code {
			t.Errorf("compose.bwrap.yaml: %s: %+v", name, s)
		}
	}
}

// TestDeployFiles: the configurations that docs/deploy ships are read without
// a complaint.
func TestDeployFiles(t *testing.T) {
	t.Parallel()
	manifest := document(t, "docs/deploy/kubernetes.yaml")
	var configMap struct{ Data map[string]string }
	if err := yaml.NewDecoder(strings.NewReader(manifest)).Decode(&configMap); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"handrail.yaml": document(t, "docs/deploy/handrail.yaml"), "kubernetes.yaml": configMap.Data["handrail.yaml"],
	} {
		if c, err := config.ReadFile(configFile(t, text)); err != nil || c.GitHub.AppID == 0 {
			t.Errorf("%s: %v, %+v", name, err, c)
		}
	}
}
