// Package bwrap opens workspaces in bubblewrap: with their own namespaces for users,
// processes, network and files, an unprivileged user, and read-only access to the
// host's programs alone. It needs no daemon.
package bwrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/seccomp"
)

// Config configures the engine. Binary is the program to run inside, as "BINARY
// toolhost …". Path is the PATH of this machine: its world-readable directories are
// visible read-only, and on the PATH inside. Toolchains come before them; one that
// cannot be shown is an error. Shows is visible as well.
type Config struct {
	Binary string
	Path   string
	Shows  workspace.Machine

	Toolchains []string

	Copy     bool // disables overlays
	NoGroups bool // disables control groups
	Groups   Groups
	Log      *slog.Logger
}

// Engine opens workspaces in bubblewrap.
type Engine struct {
	cfg   Config
	tools map[string]string

	path       string   // PATH of workspaces
	toolchains []string // directories visible besides /usr, at the same paths
	lacks      []string
	place      groupPlace // for control groups
	none       error      // why place is not usable
}

var _ workspace.Engine = (*Engine)(nil)

// New returns an engine. It looks up the required programs, but Check reports them.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if !filepath.IsAbs(cfg.Binary) {
		return nil, fmt.Errorf("make bwrap engine: binary %q: it must be an absolute path", cfg.Binary)
	}
	e := &Engine{cfg: cfg, tools: map[string]string{}}
	for _, name := range []string{"bwrap", "sh", "mount", "mkdir", "setpriv", "prlimit", "unshare"} {
		at, err := exec.LookPath(name)
		if err != nil {
			e.lacks = append(e.lacks, name)
			continue
		}
		e.tools[name] = at
	}
	if err := e.findToolchains(); err != nil {
		return nil, err
	}
	e.none = errors.New("not wanted")
	if !cfg.NoGroups {
		e.place, e.none = findGroup(ctx, cfg.Groups)
	}
	return e, nil
}

// Name returns "bwrap".
func (*Engine) Name() string { return "bwrap" }

// Layers reports whether workspaces are overlays.
func (e *Engine) Layers() bool { return !e.cfg.Copy }

// Programs identifies the programs of this machine.
func (e *Engine) Programs(context.Context, workspace.Spec) (string, error) {
	return workspace.Programs(e.path), nil
}

// Check starts a sandbox without a workspace, but with the mounts that a system may
// refuse.
func (e *Engine) Check(ctx context.Context) error {
	if len(e.lacks) > 0 {
		return fmt.Errorf("check bwrap: %s not found: install bubblewrap and util-linux", strings.Join(e.lacks, ", "))
	}
	var errs bytes.Buffer
	s := stage{engine: e, check: true}
	cmd, err := s.command(ctx)
	if err != nil {
		return fmt.Errorf("check bwrap: %w", err)
	}
	cmd.Stderr = &errs
	defer closeFiles(cmd)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("check bwrap: %w: %s", err, advice(strings.TrimSpace(errs.String())))
	}
	return nil
}

// Bounds describes the enforcement of limits on this machine.
func (e *Engine) Bounds(context.Context) workspace.Bounds {
	b := workspace.Bounds{How: "control groups hold each session to its limits"}
	if !e.place.OK() {
		b.How = fmt.Sprintf(
			"each session's processes are added up, and ended when they are over a limit; memory that the kernel holds for their sockets and pipes is not counted (%v)",
			e.none,
		)
	}
	if _, err := seccomp.Wall(); err != nil {
		b.Missing = append(b.Missing, "system calls")
	}
	return b
}

// advice adds a remedy to an error message of bubblewrap.
func advice(complaint string) string {
	if strings.Contains(complaint, "mount proc") {
		return complaint + ": this container hides parts of /proc, so no sandbox in it can have its own: start it with --security-opt systempaths=unconfined (in Kubernetes: hostUsers: false and procMount: Unmasked), or use docker"
	}
	if complaint != "" {
		complaint += ": "
	}
	return complaint + "allow user namespaces (sysctl user.max_user_namespaces, and kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap, on Ubuntu by a step before this one with sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; in a container --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined), or use docker"
}

// Open opens a workspace on an overlay if the source belongs to [workspace.Owner], else
// on a copy.
func (e *Engine) Open(ctx context.Context, spec workspace.Spec) (*workspace.Workspace, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if len(e.lacks) > 0 {
		return nil, e.Check(ctx)
	}
	return spec.Open(
		ctx,
		!e.cfg.Copy,
		e.cfg.Log,
		func(overlay bool) (*workspace.Workspace, error) { return e.open(ctx, spec, overlay) },
	)
}

func (e *Engine) open(ctx context.Context, spec workspace.Spec, overlay bool) (*workspace.Workspace, error) {
	p, release, err := e.launch(ctx, spec, overlay)
	if err != nil {
		return nil, err
	}
	ws, err := workspace.Connect(
		ctx,
		workspace.Config{Engine: e.Name(), Conn: p, Egress: spec.Egress, Log: e.cfg.Log, Release: release},
	)
	if err != nil {
		return nil, fmt.Errorf("open bwrap workspace: %w: %s", err, p.Complaint())
	}
	return ws, nil
}

// Launch starts a sandbox and leaves the connection to its tool host to the caller.
// release ends the sandbox and removes its files.
func (e *Engine) Launch(
	ctx context.Context,
	spec workspace.Spec,
	overlay bool,
) (conn io.ReadWriteCloser, release func(context.Context) error, err error) {
	if err := spec.Check(); err != nil {
		return nil, nil, err
	}
	if len(e.lacks) > 0 {
		return nil, nil, e.Check(ctx)
	}
	return e.launch(ctx, spec, overlay && !e.cfg.Copy)
}

func (e *Engine) launch(
	ctx context.Context,
	spec workspace.Spec,
	overlay bool,
) (*process, func(context.Context) error, error) {
	layers, err := workspace.Lay(ctx, spec, overlay)
	if err == nil {
		err = writeEtc(filepath.Join(spec.State, "etc"))
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open bwrap workspace: %w", err), spec.Release())
	}
	s := stage{engine: e, spec: spec, layers: layers}
	if e.place.OK() {
		if s.group, err = e.place.Make(s.groupName(), spec.Limits); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("open bwrap workspace: %w", err), spec.Release())
		}
	}
	cmd, err := s.command(context.WithoutCancel(ctx))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open bwrap workspace: %w", err), s.group.Remove(), spec.Release())
	}
	p, err := start(cmd)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open bwrap workspace: %w", err), s.group.Remove(), spec.Release())
	}
	return p, func(context.Context) error {
		p.end()
		return errors.Join(s.group.Remove(), spec.Release())
	}, nil
}

// writeEtc writes the files of /etc that define the user inside.
func writeEtc(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range workspace.EtcFiles() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// process is a running sandbox with its standard input and output.
type process struct {
	io.Reader
	in     io.WriteCloser
	cmd    *exec.Cmd
	errs   firstBytes
	finish sync.Once
}

func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd}
	cmd.Stderr = &p.errs
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.Reader, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	defer closeFiles(cmd)
	return p, cmd.Start()
}

// closeFiles closes this process's copies of the files passed to the sandbox.
func closeFiles(cmd *exec.Cmd) {
	for _, f := range cmd.ExtraFiles {
		_ = f.Close()
	}
}

func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close hangs up and kills the sandbox. All its processes end with the first one.
func (p *process) Close() error {
	p.end()
	return nil
}

func (p *process) end() {
	p.finish.Do(func() {
		p.in.Close()
		// The error is ignored: the process may have ended by itself.
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		_ = p.cmd.Wait()
	})
}

// Complaint returns the sandbox's output on stderr.
func (p *process) Complaint() string { return strings.TrimSpace(p.errs.String()) }

// firstBytes is a writer that keeps the beginning of its input.
type firstBytes struct {
	mu  sync.Mutex
	buf []byte
}

func (l *firstBytes) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, b[:min(len(b), max(0, 4096-len(l.buf)))]...)
	return len(b), nil
}

func (l *firstBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
