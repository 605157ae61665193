package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/beside"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
)

// pickWorkspace returns the engine called name, ready for use. "auto" is docker, then
// bwrap, then docker without its image if images are pulled or this machine's programs
// replace it. It is never local: isolation is not dropped silently.
//
// cfg has the configured container image; the default is [workspace.DefaultImage].
func pickWorkspace(ctx context.Context, w *console, name string, cfg policy.Workspace) (workspace.Engine, error) {
	if len(cfg.Toolchains) > 0 && name != "bwrap" && name != "auto" && name != "" {
		return nil, door.Usage(
			"workspace %s: policy.workspace.toolchains is for bwrap: docker has the programs of its image, and `handrail workspaces` shows the /usr of its own machine",
			name,
		)
	}
	if err := checkServers(cfg.LSP); err != nil {
		return nil, err
	}
	if socket, ok := strings.CutPrefix(name, "unix:"); ok {
		e := beside.New(socket, w.log)
		if err := e.Check(ctx); err != nil {
			return nil, door.Usage("workspace %s: %w", name, err)
		}
		return e, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to put it into workspaces: %w", err)
	}
	engines, err := workspaceEngines(ctx, w, self, cfg)
	if err != nil {
		return nil, err
	}
	canDo := func(e workspace.Engine, lacks error) bool {
		return errors.Is(lacks, workspace.ErrNoImage) && (cfg.Pull != "never" || onMachine(ctx, e))
	}
	if name == "auto" || name == "" {
		e, err := workspace.Choose(ctx, engines...)
		if canDo(engines[0], err) {
			return engines[0], nil
		}
		if err != nil {
			return nil, door.UsageError{Err: err}
		}
		return e, nil
	}
	for _, e := range engines {
		if e.Name() != name {
			continue
		}
		if err := e.Check(ctx); err != nil && !canDo(e, err) {
			return nil, door.Usage("workspace %s: %w", name, err)
		}
		return e, nil
	}
	return nil, door.Usage("there is no workspace %q; take docker, bwrap, local or unix:SOCKET", name)
}

// onMachine reports whether containers have the programs of this machine.
func onMachine(ctx context.Context, e workspace.Engine) bool {
	imaged, ok := e.(workspace.Imaged)
	return ok && imaged.OnMachine(ctx)
}

// boundsOf describes how an engine enforces the limits of workspaces on this machine.
func boundsOf(ctx context.Context, e workspace.Engine) string {
	b, ok := e.(workspace.Bounded)
	if !ok {
		return "nothing is known of its limits"
	}
	bounds := b.Bounds(ctx)
	if len(bounds.Missing) == 0 {
		return bounds.How
	}
	return bounds.How + "; not limited: " + strings.Join(bounds.Missing, ", ")
}

// mustLimit refuses an engine that cannot enforce all limits, unless the configuration
// allows it.
func mustLimit(ctx context.Context, e workspace.Engine, unlimited bool) error {
	b, ok := e.(workspace.Bounded)
	if !ok || unlimited {
		return nil
	}
	missing := b.Bounds(ctx).Missing
	if e.Name() == "local" {
		return door.Usage(
			"workspace local: commands run on this machine without a wall, with the rights of the server: it is for trying things out. Choose docker or bwrap, or accept it with \"policy: {workspace: {unlimited: true}}\"",
		)
	}
	if len(missing) > 0 { //control:must-limit
		return door.Usage(
			"workspace %s: this machine cannot limit %s: let it (docker info and `handrail doctor` say more), choose another workspace, or accept it with \"policy: {workspace: {unlimited: true}}\"",
			e.Name(),
			strings.Join(missing, ", "),
		)
	}
	return nil
}

func workspaceEngines(ctx context.Context, w *console, self string, cfg policy.Workspace) ([]workspace.Engine, error) {
	var shows workspace.Machine
	in := docker.Config{
		Host:   dockerHost(),
		Binary: config.ForContainers(self),
		Image:  cfg.Image,
		Shows:  w.options.machine,
		Logins: dockerLogins(),
		Log:    w.log,
	}
	if w.options.machine != nil {
		shows = *w.options.machine
	} else if cfg.Image == "" {
		in.Image, in.Spare = workspace.DefaultImage, w.options.spare
	}
	d, err := docker.New(in)
	if err != nil {
		return nil, err
	}
	b, err := bwrap.New(
		ctx,
		bwrap.Config{Binary: self, Path: os.Getenv("PATH"), Shows: shows, Toolchains: cfg.Toolchains, Log: w.log},
	)
	if err != nil {
		return nil, door.Usage("policy.workspace.toolchains: %w", err)
	}
	l, err := local.New(local.Config{Env: door.PlainEnvironment(), Log: w.log})
	if err != nil {
		return nil, err
	}
	return []workspace.Engine{d, b, l}, nil
}

// dockerHost returns the socket of a daemon that DOCKER_HOST names, as of rootless Docker; "" is the
// usual one. A daemon elsewhere does not see this machine's files.
func dockerHost() string {
	if at := os.Getenv("DOCKER_HOST"); strings.HasPrefix(at, "unix://") {
		return at
	}
	return ""
}

// dockerLogins locates the credentials that "docker login" stored.
func dockerLogins() docker.Logins {
	dir := os.Getenv("DOCKER_CONFIG")
	if home, err := os.UserHomeDir(); err == nil && dir == "" {
		dir = filepath.Join(home, ".docker")
	}
	return docker.Logins(dir)
}
