package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/policy"
)

type lspCmd struct {
	Install lspInstallCmd `cmd:"" help:"Install a language server for workspaces that have none of their own."`
}

type lspInstallCmd struct {
	Name      string            `arg:"" help:"Language server, such as gopls; 'handrail doctor languages' names the missing ones."`
	Into      string            `type:"path" placeholder:"DIR" help:"Directory of all installed servers, each in one of its name; that of this user by default."`
	Workspace string            `enum:"auto,docker,bwrap" default:"auto" help:"Where the installation runs, with a network."`
	Image     string            `placeholder:"NAME" help:"Image of the installation, with npm or go; docker only."`
	Env       map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Variable of the installation, such as GOPROXY for a mirror."`
}

// installedBelow is the directory of the workspace that an installation fills.
const installedBelow = "installed"

// maxInstall is the time limit of an installation.
const maxInstall = 30 * time.Minute

// Run installs a server inside a workspace, because that runs programs of others, and takes the result out.
func (c *lspInstallCmd) Run(ctx context.Context, w *console) (err error) {
	known, err := knownServer(c.Name)
	if err != nil {
		return err
	}
	users, err := usersServersDir()
	if err != nil && c.Into == "" {
		return err
	}
	if c.Into == "" {
		c.Into = users
	}
	engine, err := pickWorkspace(ctx, w, c.Workspace, policy.Workspace{Image: c.Image})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "handrail-lsp-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workspace.RemoveTree(dir)) }()
	state := filepath.Join(dir, "state")
	if err := c.make(ctx, w, engine, known, dir, state); err != nil {
		return err
	}
	if err := takeServer(ctx, state, c.Into, known); err != nil {
		return fmt.Errorf("install %s: %w", c.Name, err)
	}
	fmt.Fprintf(w.out, "%s is in %s.\n", c.Name, filepath.Join(c.Into, c.Name))
	if c.Into == users {
		fmt.Fprintln(w.out, "`handrail run` and `chat` have it from now on.")
	}
	fmt.Fprintf(w.out, "A server has it with this in its file: policy: {workspace: {lsp: %s}}\n", c.Into)
	return nil
}

// make runs the installation in a workspace and keeps its files in state.
func (c *lspInstallCmd) make(
	ctx context.Context, w *console, engine workspace.Engine, known lsp.Server, dir, state string,
) (err error) {
	source := filepath.Join(dir, "empty")
	if err := os.Mkdir(source, 0o755); err != nil {
		return err
	}
	ws, err := engine.Open(ctx, workspace.Spec{
		Session: filepath.Base(dir),
		Source:  source,
		State:   state,
		Keep:    true,
		Image:   c.Image,
		Pull:    true,
		Network: true,
		Env:     c.Env,
		Limits:  workspace.Limits{Command: maxInstall},
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(w.err, known.Install)
	res, err := ws.Run(ctx, workspace.Command{Line: installLine(known), Timeout: maxInstall}, func(text string) {
		fmt.Fprint(w.err, text)
	})
	if err = errors.Join(err, ws.Close(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	switch {
	case res.TimedOut:
		return fmt.Errorf("install %s: it did not end within %s", c.Name, maxInstall)
	case res.Exit != 0:
		return fmt.Errorf("install %s: it ended with exit code %d", c.Name, res.Exit)
	}
	return nil
}

// installLine returns the shell text that installs a server. Of one in Go the newest version is taken that the
// Go there can build: another Go takes minutes, if it can be had at all.
func installLine(known lsp.Server) string {
	begin := "export CGO_ENABLED=0 npm_config_prefix=$PWD/" + installedBelow + "\n" +
		"export GOBIN=$npm_config_prefix/bin\n" +
		"mkdir -p \"$GOBIN\" || exit\n"
	module, ok := strings.CutPrefix(known.Install, "go install ")
	if !ok {
		return begin + known.Install
	}
	module, _, _ = strings.Cut(module, "@")
	return begin + "module=" + module + `
export GOTOOLCHAIN=${GOTOOLCHAIN:-local}
set -o pipefail
try() { go install "$module@$1" 2>&1 | tee said; }
needs_newer() { grep -q 'requires go >=' said; }
try latest && exit
needs_newer || exit 1
for version in $(go list -m -versions "$module" | tr ' ' '\n' | grep -E '^v[0-9.]+$' | sort -rV | head -n 20); do
  echo "trying $version"
  try "$version" && exit
  needs_newer || exit 1
done
exit 1`
}

// knownServer returns a known server that can be installed.
func knownServer(name string) (lsp.Server, error) {
	var names []string
	other := ""
	for _, k := range lsp.Known() {
		if !k.Installable() {
			if k.Name == name {
				other = ". It comes otherwise: " + k.Install
			}
			continue
		}
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return lsp.Server{}, door.Usage("%q cannot be installed by this command; it installs %s%s", name, strings.Join(names, ", "), other)
}

// usersServersDir returns the directory of this user's installed servers. It may be missing.
func usersServersDir() (string, error) {
	dir, err := local.Dir()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(dir), "lsp"), nil
}

// usersServers returns the directory of this user's installed servers, or "" if there is none.
func usersServers() string {
	dir, err := usersServersDir()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// checkServers returns an error if a directory of installed servers cannot be shown in workspaces; ""
// means none.
func checkServers(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return door.Usage("show language servers: %w: `handrail lsp install NAME --into %s` makes it", err, dir)
	case !info.IsDir():
		return door.Usage("show language servers: %s is no directory", dir)
	case info.Mode().Perm()&0o022 != 0: //control:installed-by-the-owner
		return door.Usage("show language servers: users other than its owner may write %s: chmod go-w %s", dir, dir)
	}
	return nil
}

// takeServer puts an installed server in the place of an earlier one below a directory. It trusts
// nothing that the installation made. Of several at once each waits for those before.
func takeServer(ctx context.Context, state, into string, known lsp.Server) (err error) {
	tree := filepath.Join(state, workspace.KeptUpper)
	if _, err := os.Lstat(tree); err != nil {
		tree = filepath.Join(state, workspace.KeptTree)
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	made, err := root.OpenRoot(installedBelow) //control:installed-is-no-link
	if err != nil {
		return err
	}
	defer func() { _ = made.Close() }()
	switch info, err := made.Stat(filepath.Join("bin", known.Argv[0])); {
	case err != nil:
		return fmt.Errorf("it made no program %s: %w", known.Argv[0], err)
	case !info.Mode().IsRegular() || info.Mode()&0o100 == 0 || info.Size() == 0:
		return fmt.Errorf("it made no program %s: that is empty, or not to be executed", known.Argv[0])
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	lock, err := flock.Wait(ctx, filepath.Join(into, ".lock"), true) //control:installed-one-by-one
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flock.Release(lock)) }()
	if err := sweepInstalls(into); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(into, newMark)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }() // empty at the end, unless something failed
	whole, old, to := filepath.Join(fresh, "new"), filepath.Join(fresh, earlierMark+known.Name), filepath.Join(into, known.Name)
	if err := os.CopyFS(whole, made.FS()); err != nil {
		return fmt.Errorf("copy it: %w", err)
	}
	if err := letRead(whole); err != nil {
		return fmt.Errorf("copy it: %w", err)
	}
	if err := os.Rename(to, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(whole, to); err != nil {
		_ = os.Rename(old, to) // fails if there was none
		return err
	}
	return nil
}

// Beginnings of the names of an installation's directory, and of the earlier server in it.
const (
	newMark     = ".new-"
	earlierMark = "old-"
)

// sweepInstalls removes the directories of installations that were killed, and puts an earlier server back
// if its place is empty. The caller holds the lock.
func sweepInstalls(into string) error {
	list, err := os.ReadDir(into)
	if err != nil {
		return err
	}
	for _, e := range list {
		left := filepath.Join(into, e.Name())
		if !strings.HasPrefix(e.Name(), newMark) || !e.IsDir() {
			continue
		}
		parts, err := os.ReadDir(left)
		if err != nil {
			return err
		}
		for _, p := range parts {
			name, ok := strings.CutPrefix(p.Name(), earlierMark)
			to := filepath.Join(into, name)
			if _, err := os.Lstat(to); ok && errors.Is(err, fs.ErrNotExist) {
				if err := os.Rename(filepath.Join(left, p.Name()), to); err != nil { //control:installed-is-put-back
					return err
				}
			}
		}
		if err := os.RemoveAll(left); err != nil {
			return err
		}
	}
	return nil
}

// letRead lets all users read a tree, and its owner alone write it.
func letRead(dir string) error {
	return filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm()&^0o022 | 0o444
		if mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(at, mode)
	})
}
