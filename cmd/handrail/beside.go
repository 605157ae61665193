package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/agent/workspace/beside"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
)

type workspacesCmd struct {
	Socket string `required:"" type:"path" placeholder:"PATH" help:"Socket for the server, which has \"workspace: unix:SOCKET\"."`
	Dir    string `required:"" type:"path" placeholder:"DIR" help:"The server's directory of workspaces (\"work\" in its data), at the same path."`
}

// Run makes workspaces for a server until the context ends.
func (c *workspacesCmd) Run(ctx context.Context, w *console) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program to put it into workspaces: %w", err)
	}
	e, err := bwrap.New(ctx, bwrap.Config{Binary: self, Path: os.Getenv("PATH"), Log: w.log})
	if err != nil {
		return err
	}
	if err := e.Check(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.Socket), 0o700); err != nil {
		return fmt.Errorf("make socket: %w", err)
	}
	if err := os.Remove(c.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a killed process
		return fmt.Errorf("make socket: %w", err)
	}
	l, err := net.Listen("unix", c.Socket)
	if err != nil {
		return fmt.Errorf("make socket: %w", err)
	}
	if err := os.Chmod(c.Socket, 0o600); err != nil {
		return errors.Join(fmt.Errorf("make socket: %w", err), l.Close())
	}
	fmt.Fprintf(w.out, "handrail %s makes workspaces at %s: %s\n", w.version, c.Socket, boundsOf(ctx, e))
	return beside.Serve(ctx, l, e, c.Dir, w.log)
}
