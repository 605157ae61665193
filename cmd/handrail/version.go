package main

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
)

type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Run prints the version.
func (c *versionCmd) Run(ctx context.Context, w *console) error {
	v := config.Found(ctx)
	if c.JSON {
		return door.JSONLine(w.out, v)
	}
	_, err := fmt.Fprintln(w.out, versionLine(v))
	return err
}

func versionLine(v config.Info) string {
	return fmt.Sprintf("handrail %s (%s, %s)", v.Version, v.Go, v.Platform)
}

// versionFlag prints the version, at any position on the command line.
type versionFlag bool

// BeforeReset implements kong's hook, which ignores the rest of the command line.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	if _, err := fmt.Fprintln(app.Stdout, versionLine(config.Found(context.Background()))); err != nil {
		return err
	}
	app.Exit(exitDone)
	return nil
}
