package main

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/cmd/buildinfo"
	"github.com/handrail-bot/handrail/cmd/door"
)

type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Run prints the version.
func (c *versionCmd) Run(ctx context.Context, w *console) error {
	v := buildinfo.Found(ctx)
	if c.JSON {
		return door.JSONLine(w.out, v)
	}
	fmt.Fprintf(w.out, "handrail %s (%s, %s)\n", v.Version, v.Go, v.Platform)
	return nil
}
