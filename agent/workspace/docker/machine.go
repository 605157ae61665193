package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// roots are the directories besides /usr in which Linux looks for programs.
var roots = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// machineImage returns the image for workspaces that use this machine's programs, and
// creates it if missing. It is empty except for the definition of the user.
func (e *Engine) machineImage(ctx context.Context) (string, error) {
	var data bytes.Buffer
	files := tar.NewWriter(&data)
	var errs []error
	for _, dir := range roots {
		if to, err := os.Readlink(dir); err == nil {
			errs = append(
				errs,
				files.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: dir[1:], Linkname: to, Mode: 0o777}),
			)
		}
	}
	etc := workspace.EtcFiles()
	for _, name := range slices.Sorted(maps.Keys(etc)) {
		errs = append(errs, files.WriteHeader(&tar.Header{Name: "etc/" + name, Mode: 0o644, Size: int64(len(etc[name]))}))
		_, err := io.WriteString(files, etc[name])
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, files.Close())...); err != nil {
		return "", fmt.Errorf("make image: %w", err)
	}
	sum := sha256.Sum256(data.Bytes())
	name := fmt.Sprintf("handrail-runner:%x", sum[:6])
	if _, err := e.docker.ImageInspect(ctx, name); !errdefs.IsNotFound(err) {
		return name, err
	}
	made, err := e.docker.ImageImport(
		ctx,
		client.ImageImportSource{Source: &data, SourceName: "-"},
		name,
		client.ImageImportOptions{},
	)
	if err == nil {
		_, err = io.Copy(io.Discard, made)
		err = errors.Join(err, made.Close())
	}
	if err != nil {
		return "", fmt.Errorf("make image: %w", err)
	}
	return name, nil
}

// mounts returns the read-only mounts of a machine's programs.
func mounts(m *workspace.Machine) (ms []mount.Mount) {
	for _, dir := range slices.Concat([]string{"/usr"}, roots, m.Dirs, workspace.Etc()) {
		if at, err := os.Lstat(dir); err == nil && (at.Mode().Type() != os.ModeSymlink || strings.HasPrefix(dir, "/etc/")) {
			ms = append(ms, mount.Mount{Type: mount.TypeBind, Source: dir, Target: dir, ReadOnly: true})
		}
	}
	return ms
}

// sparing caches whether the daemon can show this machine's programs: a desktop's
// daemon shares only some directories. It is safe for concurrent use.
type sparing struct {
	mu    sync.Mutex
	known bool
	fits  bool
}

// canSpare reports whether workspaces can use this machine's programs instead of a
// missing image. It asks the daemon once.
func (e *Engine) canSpare(ctx context.Context) bool {
	if e.cfg.Spare == nil {
		return false
	}
	e.spare.mu.Lock()
	defer e.spare.mu.Unlock()
	if !e.spare.known {
		image, err := e.machineImage(ctx)
		if err == nil {
			err = e.checkMounts(ctx, image, mounts(e.cfg.Spare)...)
		}
		e.spare.known, e.spare.fits = ctx.Err() == nil, err == nil
		if err != nil && e.cfg.Log != nil {
			e.cfg.Log.InfoContext(ctx, "containers cannot have the programs of this machine", "err", err)
		}
	}
	return e.spare.fits
}

// checkMounts returns an error if the daemon does not see this machine's files.
func (e *Engine) checkMounts(ctx context.Context, image string, also ...mount.Mount) error {
	program := mount.Mount{Type: mount.TypeBind, Source: e.cfg.Binary, Target: "/handrail/handrail", ReadOnly: true}
	made, err := e.docker.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config:     &container.Config{Image: image, Entrypoint: []string{"/handrail/handrail"}},
		HostConfig: &container.HostConfig{Mounts: append(also, program)},
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("check docker: its daemon makes no container in time: %w", err)
	}
	if err != nil {
		return fmt.Errorf(
			"check docker: its daemon does not see the files of this machine, because it runs on another one, or because this program is in a container of its own: %w",
			err,
		)
	}
	_, err = e.docker.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{Force: true})
	return err
}
