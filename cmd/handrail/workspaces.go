package main

import (
	"context"
	"fmt"
	"os"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/cmd/door"
)

// pickWorkspace returns the engine called name, ready to be used. "auto" is
// docker, then bwrap, and never local: a wall is not given up silently.
//
// image is the configured container image; without one it is the image that
// .ci/workspace-image makes.
func pickWorkspace(ctx context.Context, w *console, name, image string) (workspace.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to put it into workspaces: %w", err)
	}
	engines, err := workspaceEngines(w, self, image)
	if err != nil {
		return nil, err
	}
	if name == "auto" || name == "" {
		e, err := workspace.Choose(ctx, engines...)
		if err != nil {
			return nil, door.UsageError{Err: err}
		}
		return e, nil
	}
	for _, e := range engines {
		if e.Name() != name {
			continue
		}
		if err := e.Check(ctx); err != nil {
			return nil, door.Usage("workspace %s: %w", name, err)
		}
		return e, nil
	}
	return nil, door.Usage("there is no workspace %q; take docker, bwrap or local", name)
}

// defaultImage is what workspaces run in when nothing else is configured.
const defaultImage = "handrail-workspace:local"

func workspaceEngines(w *console, self, image string) ([]workspace.Engine, error) {
	if image == "" {
		image = defaultImage
	}
	d, err := docker.New(docker.Config{Binary: self, Image: image, Log: w.log})
	if err != nil {
		return nil, err
	}
	b, err := bwrap.New(bwrap.Config{Binary: self, Log: w.log})
	if err != nil {
		return nil, err
	}
	l, err := local.New(local.Config{Env: door.PlainEnvironment(), Log: w.log})
	if err != nil {
		return nil, err
	}
	return []workspace.Engine{d, b, l}, nil
}
