package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// write replaces a file atomically: it writes a new file beside it and renames that. It
// follows symlinks that stay inside the root.
func (h *host) write(ctx context.Context, p string, data []byte) error {
	rel, err := h.clean(p)
	if err != nil {
		return err
	}
	if len(data) > workspace.MaxWrite {
		return fmt.Errorf("write %s: %w", rel, workspace.ErrTooLarge)
	}
	if err := h.base.wait(ctx); err != nil {
		return err
	}
	if why := h.watch.Full(context.WithoutCancel(ctx)); why != "" {
		return fmt.Errorf("write %s: %s", rel, why)
	}
	if rel, err = h.target(rel); err != nil {
		return err
	}
	mode, fresh := fs.FileMode(0o644), true
	if info, err := h.root.Lstat(rel); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("write %s: %w", rel, notFile(info))
		}
		mode, fresh = info.Mode().Perm(), info.Size() == 0
	}
	h.servers.willWrite(rel)
	dir := path.Dir(rel)
	if err := h.root.MkdirAll(dir, 0o755); err != nil {
		return h.explainFull(rootError(err), dir)
	}
	tmp := path.Join(dir, tempPrefix+rand.Text())
	if err := h.writeNew(tmp, data, mode); err != nil {
		return h.explainFull(err, dir)
	}
	if err := h.root.Rename(tmp, rel); err != nil {
		return errors.Join(rootError(err), h.root.Remove(tmp))
	}
	h.watch.Wrote(int64(len(data)))
	h.servers.wrote(ctx, rel)
	h.mu.Lock()
	defer h.mu.Unlock()
	made := h.wrote[rel] || fresh
	h.wrote[rel] = made
	if info, err := h.root.Lstat(rel); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			h.moves[stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), ino: st.Ino}] = made
		}
	}
	return nil
}

// wroteFile reports whether write has written a file, and whether it made it. A command
// may have moved the file since.
func (h *host) wroteFile(n *node) (wrote, made bool) {
	if h.of != nil {
		there := *n
		there.path = path.Join(h.within, n.path)
		return h.of.wroteFile(&there)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if made, wrote = h.wrote[n.path]; !wrote {
		made, wrote = h.moves[stamp{size: n.stat.Size, mtime: n.stat.Mtim.Nano(), ino: n.stat.Ino}]
	}
	return wrote, made
}

func (h *host) writeNew(tmp string, data []byte, mode fs.FileMode) error {
	f, err := h.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return rootError(err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // the umask may have cleared bits
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", tmp, err), h.root.Remove(tmp))
	}
	return nil
}

// target follows up to eight symlinks at rel, and refuses paths that .agentignore
// excludes.
func (h *host) target(rel string) (string, error) {
	for range 8 {
		if rel == "." || h.agent.match(rel, false) {
			err := workspace.ErrIgnored
			if rel == "." {
				err = workspace.ErrNotFile
			}
			return "", fmt.Errorf("write %s: %w", rel, err)
		}
		dir, err := h.realDir(path.Dir(rel))
		if err != nil {
			return "", err
		}
		rel = path.Join(dir, path.Base(rel))
		if h.agent.match(rel, false) {
			return "", fmt.Errorf("write %s: %w", rel, workspace.ErrIgnored)
		}
		if h.isOther(rel) {
			return "", fmt.Errorf("write %s: %w", rel, workspace.ErrOther)
		}
		link, err := h.root.Readlink(rel)
		if err != nil {
			return rel, nil //nolint:nilerr // no link there, or nothing at all
		}
		if path.IsAbs(link) {
			return "", fmt.Errorf("write %s: it links to %s: %w", rel, link, workspace.ErrOutside)
		}
		if rel, err = h.clean("./" + path.Join(path.Dir(rel), link)); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("write %s: too many symlinks: %w", rel, workspace.ErrNotFile)
}

// realDir returns the path of a directory without symlinks, as far as it exists.
func (h *host) realDir(dir string) (string, error) {
	rest := ""
	for dir != "." {
		f, info, err := h.open(dir)
		if err == nil {
			defer f.Close()
			if !info.IsDir() {
				return "", fmt.Errorf("%s is a file, not a directory", dir)
			}
			return path.Join(h.inside(f, dir), rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		rest = path.Join(path.Base(dir), rest)
		dir = path.Dir(dir)
	}
	return path.Join(".", rest), nil
}

func (h *host) remove(ctx context.Context, p string) error {
	rel, err := h.clean(p)
	if err != nil {
		return err
	}
	if err := h.base.wait(ctx); err != nil {
		return err
	}
	if rel == "." {
		return fmt.Errorf("remove %s: it is the workspace: %w", p, fs.ErrInvalid)
	}
	dir, err := h.realDir(path.Dir(rel))
	if err != nil {
		return err
	}
	if at := path.Join(dir, path.Base(rel)); h.agent.match(at, false) || h.agent.match(rel, false) {
		return fmt.Errorf("remove %s: %w", rel, workspace.ErrIgnored)
	}
	if h.isOther(path.Join(dir, path.Base(rel))) {
		return fmt.Errorf("remove %s: %w", rel, workspace.ErrOther)
	}
	if err := h.root.Remove(rel); err != nil {
		return rootError(err)
	}
	h.servers.wrote(ctx, rel)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.wrote, path.Join(dir, path.Base(rel)))
	return nil
}

// tempPrefix begins the names of unfinished files.
const tempPrefix = ".handrail-"
