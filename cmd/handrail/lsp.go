package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
)

type lspCmd struct {
	Install lspInstallCmd `cmd:"" help:"Install a language server into a directory that workspaces of bwrap can be shown."`
}

type lspInstallCmd struct {
	Name      string `arg:"" help:"Language server, such as gopls; 'handrail doctor languages' names those that are missing."`
	Into      string `default:"/opt/handrail/lsp" type:"path" help:"Directory of all installed servers; each gets one below."`
	Workspace string `enum:"auto,docker,bwrap,local" default:"auto" help:"Where the installation runs, with a network."`
}

// installedBelow is the directory of a workspace in which a server is installed.
const installedBelow = "installed"

// Run installs a server inside a workspace and copies the result: an installation runs programs of
// others.
func (c *lspInstallCmd) Run(ctx context.Context, w *console) (err error) {
	line, err := installLine(c.Name)
	if err != nil {
		return err
	}
	engine, err := pickWorkspace(ctx, w, c.Workspace, policy.Workspace{})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "handrail-lsp-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workspace.RemoveTree(dir)) }()
	source, state := filepath.Join(dir, "empty"), filepath.Join(dir, "state")
	if err := os.Mkdir(source, 0o755); err != nil {
		return err
	}
	ws, err := engine.Open(ctx, workspace.Spec{Session: filepath.Base(dir), Source: source, State: state, Keep: true, Network: true})
	if err != nil {
		return err
	}
	fmt.Fprintln(w.err, line)
	command := "export GOBIN=$PWD/" + installedBelow + "/bin npm_config_prefix=$PWD/" + installedBelow + "\n" +
		"mkdir -p \"$GOBIN\" && " + line
	res, err := ws.Run(ctx, workspace.Command{Line: command}, nil)
	if err = errors.Join(err, ws.Close(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	if res.Exit != 0 {
		fmt.Fprintln(w.err, strings.TrimSpace(res.Output))
		return fmt.Errorf("install %s: it ended with exit code %d", c.Name, res.Exit)
	}
	to := filepath.Join(c.Into, c.Name)
	if err := takeInstalled(state, to); err != nil {
		return err
	}
	fmt.Fprintf(w.out, "%s is in %s. Workspaces of bwrap have it with this in the server's file:\n", c.Name, to)
	fmt.Fprintf(w.out, "policy: {workspace: {toolchains: [%s]}}\n", to)
	return nil
}

// installLine returns the command that installs a known server.
func installLine(name string) (string, error) {
	var names []string
	for _, k := range lsp.Known() {
		if !k.Bundled() {
			continue
		}
		if k.Name == name {
			return k.Install, nil
		}
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return "", door.Usage("%q cannot be installed by this command; it installs %s", name, strings.Join(names, ", "))
}

// takeInstalled puts what was installed in a workspace in the place of an earlier installation.
func takeInstalled(state, to string) error {
	from := filepath.Join(state, workspace.KeptUpper, installedBelow)
	if _, err := os.Lstat(from); err != nil {
		from = filepath.Join(state, workspace.KeptTree, installedBelow)
	}
	fresh := to + ".new"
	if err := errors.Join(os.RemoveAll(fresh), os.MkdirAll(filepath.Dir(to), 0o755)); err != nil {
		return err
	}
	if err := os.CopyFS(fresh, os.DirFS(from)); err != nil {
		return errors.Join(fmt.Errorf("copy the installation: %w", err), os.RemoveAll(fresh))
	}
	return errors.Join(os.RemoveAll(to), os.Rename(fresh, to))
}
