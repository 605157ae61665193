package docker

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/client"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/handrail-bot/handrail/agent/workspace"
)

var _ workspace.Builder = (*Engine)(nil)

// dockerfileInside is the name of the approved Dockerfile among the files of a build.
const dockerfileInside = ".handrail-dockerfile"

// maxIgnoreFile is the maximum size of a .dockerignore.
const maxIgnoreFile = 64 << 10

// maxBuildWords is the maximum number of bytes that an error has of a build's output.
const maxBuildWords = 2000

// HasImage implements [workspace.Builder].
func (e *Engine) HasImage(ctx context.Context, name string) (bool, error) {
	_, err := e.docker.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find image %s: %w", name, err)
	}
	return true, nil
}

// Build implements [workspace.Builder]. It uses the daemon's first builder: only that has the
// commands of a build in the network of a container.
func (e *Engine) Build(ctx context.Context, b workspace.Build) error {
	network, err := e.networkOf(ctx, b)
	if err != nil {
		return fmt.Errorf("build image: %w", err)
	}
	if err := e.checkTriggers(ctx, b.From); err != nil {
		return err
	}
	limits := b.Limits.WithDefaults()
	args := map[string]*string{}
	for name, value := range b.Args {
		args[name] = &value
	}
	root, err := openFiles(b)
	if err != nil {
		return fmt.Errorf("%w: %w", workspace.ErrBuild, err)
	}
	defer func() { _ = root.Close() }()
	files, in := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := pack(in, root, b.Text)
		_ = in.CloseWithError(err)
		packed <- err
	}()
	res, err := e.docker.ImageBuild(ctx, files, client.ImageBuildOptions{
		Tags: []string{b.Image}, Dockerfile: dockerfileInside, Target: b.Target, BuildArgs: args, NetworkMode: network,
		Labels: map[string]string{labelBuilt: "yes"}, Remove: true, ForceRemove: true, Version: build.BuilderV1,
		Memory: limits.MemoryBytes, MemorySwap: limits.MemoryBytes, CPUPeriod: period, CPUQuota: int64(limits.CPUs * period),
	})
	if err != nil {
		_ = files.CloseWithError(err)
		bad := <-packed
		if bad != nil && !errors.Is(bad, err) {
			err = errors.Join(err, bad)
		}
		if errdefs.IsInvalidArgument(err) { // the Dockerfile
			return fmt.Errorf("%w: %w", workspace.ErrBuild, err)
		}
		return fmt.Errorf("build image: %w", err)
	}
	defer res.Body.Close()
	err = follow(res.Body, b.Tell)
	_ = files.Close()
	return errors.Join(err, ignoreClosed(<-packed))
}

// checkTriggers returns an error if an image has instructions for builds from it (ONBUILD): a
// builder carries them out, ADD of an address included, and no approver saw them.
func (e *Engine) checkTriggers(ctx context.Context, images []string) error {
	for _, name := range images {
		res, err := e.docker.ImageInspect(ctx, name)
		if err != nil {
			return fmt.Errorf("find image %s: %w", name, err)
		}
		if res.Config != nil && len(res.Config.OnBuild) > 0 { //control:recipe-triggers
			return fmt.Errorf(
				"%w: the image %s has instructions of its own for builds from it, which no approval shows: ONBUILD %s",
				workspace.ErrBuild,
				name,
				strings.Join(res.Config.OnBuild, "; ONBUILD "),
			)
		}
	}
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, io.ErrClosedPipe) { // the daemon read no further
		return nil
	}
	return err
}

// networkOf returns the network of a build's commands.
func (e *Engine) networkOf(ctx context.Context, b workspace.Build) (string, error) {
	switch {
	case b.Network:
		return "default", nil
	case b.Beside == "":
		return "none", nil //control:build-without-network
	}
	list, err := e.docker.ContainerList(ctx, client.ContainerListOptions{
		Filters: client.Filters{}.Add("label", labelSession+"="+b.Beside),
	})
	if err != nil {
		return "", err
	}
	if len(list.Items) != 1 {
		return "", fmt.Errorf("%d containers belong to %s", len(list.Items), b.Beside)
	}
	return "container:" + list.Items[0].ID, nil
}

// openFiles opens the directory of a build's files. A link does not lead out of the repository.
func openFiles(b workspace.Build) (*os.Root, error) {
	root, err := os.OpenRoot(b.Files)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return root.OpenRoot(filepath.FromSlash(b.Dir)) //control:build-files-of-the-repository
}

// pack writes the files of a build, without those that its .dockerignore names, as an archive, and
// last the approved Dockerfile, which takes the place of a file of its name.
func pack(out io.Writer, root *os.Root, text string) error {
	files, err := unignored(root.FS())
	if err != nil {
		return fmt.Errorf("pack the files of the build: %w", err)
	}
	w := tar.NewWriter(out)
	if err := w.AddFS(files); err != nil {
		return fmt.Errorf("pack the files of the build: %w", err)
	}
	err = w.WriteHeader(&tar.Header{Name: dockerfileInside, Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return errors.Join(err, w.Close())
}

// keptFiles are files without those that match.
type keptFiles struct {
	fs.FS
	ignored *patternmatcher.PatternMatcher
}

// unignored returns the files that the .dockerignore at their root leaves.
func unignored(files fs.FS) (fs.FS, error) {
	in, err := files.Open(".dockerignore")
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(io.LimitReader(in, maxIgnoreFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxIgnoreFile {
		return nil, fmt.Errorf("%w: .dockerignore has more than %d bytes", workspace.ErrBuild, maxIgnoreFile)
	}
	list, err := ignorefile.ReadAll(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: .dockerignore: %w", workspace.ErrBuild, err)
	}
	ignored, err := patternmatcher.New(list)
	if err != nil {
		return nil, fmt.Errorf("%w: .dockerignore: %w", workspace.ErrBuild, err)
	}
	return keptFiles{files, ignored}, nil
}

// ReadDir implements [fs.ReadDirFS]. A directory that is ignored is there if some file in it may be kept.
func (k keptFiles) ReadDir(name string) (out []fs.DirEntry, err error) {
	all, err := fs.ReadDir(k.FS, name)
	for _, e := range all {
		match, bad := k.ignored.MatchesOrParentMatches(path.Join(name, e.Name()))
		if bad != nil {
			return nil, fmt.Errorf("%w: .dockerignore: %w", workspace.ErrBuild, bad)
		}
		if match && (!e.IsDir() || !k.ignored.Exclusions()) { //control:build-ignores
			continue
		}
		out = append(out, e)
	}
	return out, err
}

// ReadLink implements [fs.ReadLinkFS].
func (k keptFiles) ReadLink(name string) (string, error) { return fs.ReadLink(k.FS, name) }

// Lstat implements [fs.ReadLinkFS].
func (k keptFiles) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(k.FS, name) }

// follow reads the output of a build, and tells its steps.
func follow(r io.Reader, tell func(string)) error {
	in := json.NewDecoder(bufio.NewReader(r))
	var said strings.Builder
	for {
		var m struct {
			Stream string `json:"stream"`
			Error  string `json:"error"`
		}
		err := in.Decode(&m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("build image: %w", err)
		}
		if m.Error != "" {
			return fmt.Errorf("%w: %s\n%s", workspace.ErrBuild, strings.TrimSpace(m.Error), strings.TrimSpace(said.String()))
		}
		said.WriteString(m.Stream)
		if over := said.Len() - 2*maxBuildWords; over > 0 {
			rest := said.String()[over+maxBuildWords:]
			said.Reset()
			said.WriteString(rest)
		}
		if line, ok := strings.CutPrefix(m.Stream, "Step "); ok && tell != nil {
			_, line, _ = strings.Cut(strings.TrimSpace(line), " : ")
			tell("building the image: " + line)
		}
	}
}
