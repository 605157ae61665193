// Package docker opens workspaces in containers of a Docker daemon, or of any other
// daemon with the same API. The tool host is the container's main process, and its
// stdin and stdout are the connection: if this process dies, the input ends, the host
// exits, and the container is removed.
package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Config configures the engine. Binary is the program to mount into every container and
// to run there as "BINARY toolhost …". It must be statically linked unless the image
// has its libraries. The daemon must see it, and all state and source directories, at
// the same paths. Image is the default for a specification without one. Host is the
// daemon's address; "" means the default socket. Env is added to every workspace's
// environment. With Shows and without any image, workspaces use this machine's own
// programs. With Spare they do so while Image is missing.
type Config struct {
	Binary string
	Image  string
	Host   string
	Env    map[string]string
	Copy   bool // disables overlays
	Shows  *workspace.Machine
	Spare  *workspace.Machine
	Logins Logins
	Log    *slog.Logger
}

// Engine opens workspaces in containers.
type Engine struct {
	cfg    Config
	docker *client.Client
	pulls  pulls
	spare  sparing
}

var _ workspace.Engine = (*Engine)(nil)

// New returns an engine. It does not yet contact the daemon.
func New(cfg Config) (*Engine, error) {
	if !filepath.IsAbs(cfg.Binary) {
		return nil, fmt.Errorf("make docker engine: binary %q: it must be an absolute path", cfg.Binary)
	}
	var opts []client.Opt
	if cfg.Host != "" {
		opts = append(opts, client.WithHost(cfg.Host))
	}
	docker, err := client.New(opts...)
	if err != nil {
		return nil, fmt.Errorf("make docker engine: %w", err)
	}
	return &Engine{cfg: cfg, docker: docker}, nil
}

// Name returns "docker".
func (*Engine) Name() string { return "docker" }

// Layers reports whether workspaces are overlays. They need root, because only root can
// remove the daemon's files in an overlay's work directory.
func (e *Engine) Layers() bool { return !e.cfg.Copy && os.Geteuid() == 0 }

// Close closes the connections to the daemon. Open workspaces stay open.
func (e *Engine) Close() error { return e.docker.Close() }

// Images reports whether workspaces use images, and not this machine's own programs.
func (e *Engine) Images() bool { return e.cfg.Shows == nil }

// Check tests that the daemon responds, that it sees the files of this machine, and
// that the configured image exists. It returns [workspace.ErrNoImage] if only the image
// is missing: another one may be available, or it may be pulled.
func (e *Engine) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // a busy daemon takes more than ten seconds for a container
	defer cancel()
	soon, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	if _, err := e.docker.Ping(soon, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return fmt.Errorf(
			"check docker: %w: install docker.io (or Docker Engine), start its daemon, and let this user use its socket",
			err,
		)
	}
	if _, err := os.Stat(e.cfg.Binary); err != nil && runtime.GOOS != "linux" { // on Linux, Binary is this program
		return fmt.Errorf(
			"check docker: %w: containers run the Linux program: put the one of the release for Linux there",
			err,
		)
	}
	on, lacks := e.base(ctx, e.cfg.Image)
	if lacks == nil && on.image == "" {
		return nil
	}
	if lacks == nil && on.shows != nil && on.shows == e.cfg.Spare {
		lacks = missingImage(e.cfg.Image)
	}
	if errors.Is(lacks, workspace.ErrNoImage) {
		var err error
		if on.image, err = e.machineImage(ctx); err != nil {
			return err
		}
	} else if lacks != nil {
		return lacks
	}
	if err := e.checkMounts(ctx, on.image); err != nil { //control:daemon-sees-files
		return err
	}
	return lacks
}

// programs are the image of a workspace, its environment, and the machine to show;
// shows is nil if none is. The zero value has no programs.
type programs struct {
	image string
	env   map[string]string
	shows *workspace.Machine
}

// base returns the programs of a workspace with this image; "" means the engine's own.
func (e *Engine) base(ctx context.Context, image string) (on programs, err error) {
	shows := e.cfg.Shows
	if on.image = cmp.Or(image, e.cfg.Image); on.image != "" {
		on.env, err = e.imageEnv(ctx, on.image)
		if on.image != e.cfg.Image || !errors.Is(err, workspace.ErrNoImage) || !e.canSpare(ctx) {
			return on, err
		}
		shows = e.cfg.Spare
	}
	if shows == nil {
		return on, nil
	}
	on.image, err = e.machineImage(ctx)
	on.env, on.shows = shows.Env, shows
	return on, err
}

// OnMachine reports whether workspaces without an image of their own use this machine's
// programs.
func (e *Engine) OnMachine(ctx context.Context) bool {
	on, err := e.base(ctx, "")
	return err == nil && on.shows != nil
}

// Bounds asks the daemon which limits its machine supports.
func (e *Engine) Bounds(ctx context.Context) workspace.Bounds {
	b := workspace.Bounds{How: "the daemon's control groups hold each session to its limits"}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	res, err := e.docker.Info(ctx, client.InfoOptions{})
	if err != nil {
		b.Missing = []string{"whatever the daemon, which does not answer, leaves out"}
		return b
	}
	for _, l := range []struct {
		name string
		kept bool
	}{
		{"memory", res.Info.MemoryLimit}, {"processes", res.Info.PidsLimit}, {"processors", res.Info.CPUCfsQuota},
		{"system calls", slices.ContainsFunc(res.Info.SecurityOptions, func(o string) bool { return strings.HasPrefix(o, "name=seccomp") && !strings.Contains(o, "unconfined") })},
	} {
		if !l.kept { //control:docker-bounds
			b.Missing = append(b.Missing, l.name)
		}
	}
	return b
}

// Programs returns the id of the image. Unlike a name, it identifies the content.
func (e *Engine) Programs(ctx context.Context, spec workspace.Spec) (string, error) {
	if spec.Image == "" && e.cfg.Image == "" {
		return workspace.Programs(""), nil
	}
	on, err := e.resolve(ctx, spec)
	if err != nil {
		return "", err
	}
	if on.shows != nil {
		return workspace.Programs(""), nil
	}
	res, err := e.docker.ImageInspect(ctx, on.image)
	if err != nil {
		return "", fmt.Errorf("find image %s: %w", on.image, err)
	}
	return res.ID, nil
}

// resolve is [Engine.base] for a specification. It pulls a missing image if spec allows
// that.
func (e *Engine) resolve(ctx context.Context, spec workspace.Spec) (on programs, err error) {
	on, err = e.base(ctx, spec.Image)
	if errors.Is(err, workspace.ErrNoImage) && spec.Pull { //control:pull-where-allowed
		if err = e.get(ctx, on.image, spec); err == nil {
			on, err = e.base(ctx, spec.Image)
		}
	}
	return on, err
}

// imageEnv returns the environment defined by an image.
func (e *Engine) imageEnv(ctx context.Context, image string) (map[string]string, error) {
	res, err := e.docker.ImageInspect(ctx, image)
	if errdefs.IsNotFound(err) {
		return nil, missingImage(image)
	}
	if err != nil {
		return nil, fmt.Errorf("find image %s: %w", image, err)
	}
	env := map[string]string{}
	if res.Config != nil {
		for _, kv := range res.Config.Env {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
	}
	return env, nil
}

// Open opens a workspace on an overlay if the source belongs to [workspace.Owner] and
// this process is root, else on a copy.
func (e *Engine) Open(ctx context.Context, spec workspace.Spec) (*workspace.Workspace, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	on, err := e.resolve(ctx, spec)
	if err == nil && on.image == "" {
		err = errors.New(
			"find image: none is configured: set the workspace's image, such as one with your toolchain, bash and git",
		)
	}
	spec.Image = on.image
	if err != nil {
		return nil, fmt.Errorf("open docker workspace: %w", err)
	}
	plan := plan{engine: e, spec: spec, image: on.env, shows: on.shows}
	return spec.Open(
		ctx,
		e.Layers(),
		e.cfg.Log,
		func(overlay bool) (*workspace.Workspace, error) { return e.open(ctx, plan, overlay) },
	)
}

func (e *Engine) open(ctx context.Context, plan plan, overlay bool) (*workspace.Workspace, error) {
	spec := plan.spec
	layers, err := workspace.Lay(ctx, spec, overlay)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open docker workspace: %w", err), spec.Release())
	}
	plan.layers = layers
	made, err := e.docker.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name:   "handrail-" + spec.Session + "-" + strings.ToLower(rand.Text()[:10]),
		Config: plan.config(), HostConfig: plan.host(),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open docker workspace: create container: %w", err), spec.Release())
	}
	release := func(ctx context.Context) error {
		return errors.Join(e.remove(ctx, made.ID, removeTime), spec.Release())
	}
	conn, err := e.start(ctx, made.ID)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open docker workspace: %w", err), release(context.WithoutCancel(ctx)))
	}
	ws, err := workspace.Connect(
		ctx,
		workspace.Config{Engine: e.Name(), Conn: conn, Egress: spec.Egress, Release: release, Log: e.cfg.Log},
	)
	if err != nil {
		return nil, fmt.Errorf("open docker workspace: %w: %s", err, conn.complaint())
	}
	return ws, nil
}

// start starts a container. It attaches first, so that no output is lost.
func (e *Engine) start(ctx context.Context, id string) (*stream, error) {
	att, err := e.docker.ContainerAttach(
		ctx,
		id,
		client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true},
	)
	if err != nil {
		return nil, fmt.Errorf("attach to container: %w", err)
	}
	if _, err := e.docker.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		att.Close()
		return nil, fmt.Errorf("start container: %w", err)
	}
	return &stream{conn: att.Conn, in: att.Reader}, nil
}

// removeTime is the time limit of Close for the daemon.
const removeTime = 30 * time.Second

// firstPause is the first pause between attempts to remove a container. Each further
// pause is twice as long, up to a second.
const firstPause = 50 * time.Millisecond

// remove kills and removes a container, and waits until it is gone. most limits the wait.
func (e *Engine) remove(ctx context.Context, id string, most time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	waiting := e.docker.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	err := e.removeNow(ctx, id)
	known := err != nil && !errdefs.IsConflict(err) // a conflict means that removal is in progress
	if known {
		cancel()
	}
	var wait error
	select { // exactly one arrives, and this is the only receiver
	case <-waiting.Result:
	case wait = <-waiting.Error:
	}
	if !known {
		err = wait
	}
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("remove container: %w", err)
}

// removeNow asks the daemon to remove a container, and retries while the daemon is busy
// with it. It returns the last error.
func (e *Engine) removeNow(ctx context.Context, id string) error {
	options := client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}
	_, err := e.docker.ContainerRemove(ctx, id, options)
	for pause := firstPause; err != nil && strings.Contains(err.Error(), "directory not empty"); pause = min(2*pause, time.Second) {
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause): // the daemon still writes to the directory
		}
		if _, again := e.docker.ContainerRemove(ctx, id, options); ctx.Err() == nil {
			err = again
		}
	}
	return err
}
