package workspacetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/egress"
	"github.com/handrail-bot/handrail/agent/workspace/host"
)

// Toolhost makes a test binary serve as the binary that engines start inside.
// TestMain calls it first. It reports whether this process was started inside; if
// so, it has served. environ is the process's environment.
func Toolhost(environ []string) bool {
	if len(os.Args) == 2 && os.Args[1] == "probe" {
		probe()
		return true
	}
	if len(os.Args) == 3 && os.Args[1] == "try" {
		if err := tryAll(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return true
	}
	if len(os.Args) < 2 || os.Args[1] != "toolhost" {
		return false
	}
	if err := toolhost(context.Background(), os.Args[2:], environ); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return true
}

func toolhost(ctx context.Context, args, environ []string) error {
	var cfg host.Config
	var limits workspace.Limits
	set := flag.NewFlagSet("toolhost", flag.ContinueOnError)
	set.StringVar(&cfg.Name, "name", "", "")
	set.StringVar(&cfg.Base, "base", "", "")
	set.StringVar(&cfg.Upper, "upper", "", "")
	set.StringVar(&cfg.Layer, "layer", "", "")
	set.StringVar(&cfg.Cache, "cache", "", "")
	set.StringVar(&cfg.LSP, "lsp", "", "")
	set.StringVar(&cfg.Git, "git", "", "")
	set.Func("write", "", func(name string) error { cfg.Writes = append(cfg.Writes, name); return nil })
	set.BoolVar(&cfg.Init, "init", false, "")
	set.BoolVar(&cfg.Hold, "hold", false, "")
	set.DurationVar(&limits.Command, "command", 0, "")
	set.Int64Var(&limits.DiskBytes, "disk", 0, "")
	set.Int64Var(&limits.MemoryBytes, "memory", 0, "")
	set.Int64Var(&limits.Pids, "pids", 0, "")
	set.Float64Var(&limits.CPUs, "cpus", 0, "")
	if err := set.Parse(args); err != nil {
		return err
	}
	cfg.Root, cfg.Env, cfg.Limits, cfg.Way = set.Arg(0), environ, limits, wayOut
	return host.Serve(ctx, stdio{os.Stdin, os.Stdout}, cfg)
}

func wayOut(ctx context.Context, conn *workspace.Conn) (host.Way, error) {
	return egress.NewForward(ctx, conn)
}

type stdio struct {
	io.Reader
	io.Writer
}

func (stdio) Close() error { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }
