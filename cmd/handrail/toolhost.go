package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/egress"
	"github.com/handrail-bot/handrail/agent/workspace/host"
)

// toolhostCmd serves tools inside a workspace. The workspace engines start it; it is not
// for the command line.
type toolhostCmd struct {
	Root    string        `arg:"" help:"Absolute path of the tree; or mcp, to carry an agent's connection to Handrail's tools."`
	Name    string        `help:"Name of the tree for users."`
	Base    string        `help:"Read-only tree of the base."`
	Upper   string        `help:"Upper layer of the overlay at the root."`
	Layer   string        `help:"Tree that a set-up made, read-only, which lies below the base."`
	Cache   string        `help:"Upper layer of the overlay at the caches."`
	Git     string        `help:"Directory with the past of the base, read-only."`
	LSP     string        `name:"lsp" help:"Directory of installed language servers, read-only."`
	Write   []string      `help:"Other repository that may be changed."`
	Init    bool          `help:"The process is alone in its namespace: reap orphans."`
	Command time.Duration `help:"Longest run of one command."`
	Disk    int64         `help:"Bytes that may be added on the disk."`
	Hold    bool          `help:"Hold the processes to the next three; nothing else does."`
	Memory  int64         `help:"Bytes of memory of all processes together."`
	Pids    int64         `help:"Processes and threads."`
	CPUs    float64       `name:"cpus" help:"Processors."`
}

// stdio is the connection to the bot.
type stdio struct {
	io.Reader
	io.Writer
}

// Close ends both directions.
func (stdio) Close() error { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

func wayOut(ctx context.Context, conn *workspace.Conn) (host.Way, error) {
	return egress.NewForward(ctx, conn)
}

// Run serves until the other side closes the connection.
func (c *toolhostCmd) Run(ctx context.Context, w *console) error {
	if c.Root == "mcp" {
		return carryTools(ctx, w)
	}
	return host.Serve(ctx, stdio{w.in, w.out}, host.Config{
		Root:   c.Root,
		Name:   c.Name,
		Base:   c.Base,
		Upper:  c.Upper,
		Layer:  c.Layer,
		Cache:  c.Cache,
		Git:    c.Git,
		LSP:    c.LSP,
		Writes: c.Write,
		Init:   c.Init,
		Hold:   c.Hold,
		Env:    os.Environ(),
		Log:    w.log,
		Way:    wayOut,
		Limits: workspace.Limits{Command: c.Command, DiskBytes: c.Disk, MemoryBytes: c.Memory, Pids: c.Pids, CPUs: c.CPUs},
	})
}
