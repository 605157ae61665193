// Package local opens workspaces without a wall: the tool host runs in this process, and
// commands run as its user, on a copy of the code. It is for disposable runners and for
// trusted code. Commands do not get the environment of this process; they do have the
// network.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/host"
)

// Config configures the engine. Env is this process's environment (KEY=value); commands
// get only variables that are known to be harmless.
type Config struct {
	Env []string
	Log *slog.Logger
}

// Engine opens workspaces in this process.
type Engine struct{ cfg Config }

var _ workspace.Engine = (*Engine)(nil)

// New returns an engine.
func New(cfg Config) (*Engine, error) { return &Engine{cfg: cfg}, nil }

// Name returns "local".
func (*Engine) Name() string { return "local" }

// Check returns an error if there is no shell.
func (e *Engine) Check(context.Context) error {
	for _, name := range []string{"bash", "sh"} {
		if _, err := exec.LookPath(name); err == nil {
			return nil
		}
	}
	return errors.New("check local workspace: neither bash nor sh is on the PATH: install bash")
}

// Bounds reports that only the disk is limited.
func (*Engine) Bounds(context.Context) workspace.Bounds {
	return workspace.Bounds{
		How:     "there is no wall",
		Missing: []string{"memory", "processes", "processors", "system calls"},
	}
}

// Open copies the source and serves the copy.
func (e *Engine) Open(ctx context.Context, spec workspace.Spec) (*workspace.Workspace, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if spec.Layer != "" || spec.Keep {
		return nil, errors.New("open local workspace: without a wall nothing is set up once for all")
	}
	if spec.Egress != nil { //control:egress-not-local
		return nil, errors.New(
			"open local workspace: network: allowlist cannot be kept here, because a local workspace has no wall: use docker or bwrap, or take network and hosts out of the configuration where everything may be reached",
		)
	}
	cfg, err := e.prepare(ctx, spec)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open local workspace: %w", err), workspace.RemoveTree(spec.State))
	}
	// This keeps commands from inspecting this process, unless its user is root.
	if err := host.Hide(); err != nil {
		return nil, errors.Join(fmt.Errorf("open local workspace: %w", err), workspace.RemoveTree(spec.State))
	}
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- host.Serve(context.WithoutCancel(ctx), far, cfg) }()
	return workspace.Connect(ctx, workspace.Config{
		Engine: e.Name(), Conn: near, Log: e.cfg.Log,
		Release: func(context.Context) error {
			return errors.Join(<-served, workspace.RemoveTree(spec.State))
		},
	})
}

func (e *Engine) prepare(ctx context.Context, spec workspace.Spec) (host.Config, error) {
	tree := filepath.Join(spec.State, "tree")
	home := filepath.Join(spec.State, "home")
	for _, dir := range []string{tree, home, filepath.Join(spec.State, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return host.Config{}, err
		}
	}
	if spec.Source != "" {
		if err := spec.Copy(ctx, tree); err != nil {
			return host.Config{}, err
		}
	}
	if err := spec.CopyOthers(ctx, tree); err != nil {
		return host.Config{}, err
	}
	if spec.Over != "" { // two layers have no single base directory
		spec.Source = ""
	}
	own := harmless(e.cfg.Env)
	if old := valueOf(e.cfg.Env, "HOME"); old != "" {
		// Tools keep both caches and credentials below HOME. So HOME is a new directory, and the
		// caches are named one by one.
		setIfDir(own, "GOMODCACHE", filepath.Join(old, "go", "pkg", "mod"))
		setIfDir(own, "GOCACHE", filepath.Join(old, ".cache", "go-build"))
		setIfDir(own, "RUSTUP_HOME", filepath.Join(old, ".rustup"))
	}
	own["HOME"], own["TMPDIR"] = home, filepath.Join(spec.State, "tmp")
	spec.Network = true // there is no wall
	return host.Config{
		Root: tree, Name: spec.Name, Base: spec.Source, Git: spec.Git, LSP: spec.LSP, Writes: spec.Writable(), Dirs: []string{spec.State, "/dev/shm"}, Env: spec.Environ(own),
		Limits: spec.Limits.WithDefaults(), Log: e.cfg.Log,
	}, nil
}

// harmless returns the variables that locate tools, and none with credentials.
func harmless(env []string) map[string]string {
	allowed := map[string]bool{
		"PATH": true, "LANG": true, "LC_ALL": true, "LC_CTYPE": true, "TZ": true, "USER": true, "LOGNAME": true, "SHELL": true,
		"GOROOT": true, "GOPATH": true, "GOCACHE": true, "GOMODCACHE": true, "GOFLAGS": true, "GOTOOLCHAIN": true,
		"JAVA_HOME": true, "RUSTUP_HOME": true, "NVM_DIR": true, "NVM_BIN": true, "PYENV_ROOT": true,
		"VIRTUAL_ENV": true, "DOTNET_ROOT": true, "ANDROID_HOME": true, "RUNNER_OS": true, "RUNNER_ARCH": true,
	}
	out := map[string]string{}
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok && allowed[name] {
			out[name] = value
		}
	}
	return out
}

func valueOf(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// setIfDir sets name to dir if dir exists and name is not set.
func setIfDir(env map[string]string, name, dir string) {
	if _, set := env[name]; set {
		return
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		env[name] = dir
	}
}
