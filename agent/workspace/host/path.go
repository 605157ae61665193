package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// maxPath is the system's maximum length of a path, in bytes.
const maxPath = 4096

// clean turns a path as models write it into one relative to the root.
func (h *host) clean(p string) (string, error) {
	if len(p) > maxPath {
		return "", fmt.Errorf(
			"use path %q…: it has %d bytes, and the longest that the system takes is %d",
			p[:60],
			len(p),
			maxPath,
		)
	}
	if strings.ContainsRune(p, 0) {
		return "", fmt.Errorf("use path %q: %w", p, fs.ErrInvalid)
	}
	rel := p
	if path.IsAbs(p) {
		abs := path.Clean(p)
		switch {
		case abs == h.cfg.Root:
			return ".", nil
		case strings.HasPrefix(abs, h.cfg.Root+"/"):
			rel = abs[len(h.cfg.Root)+1:]
		default:
			return "", fmt.Errorf("use path %q: %w (%s)", p, workspace.ErrOutside, h.cfg.Root)
		}
	}
	rel = path.Clean(rel)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("use path %q: %w (%s)", p, workspace.ErrOutside, h.cfg.Root)
	}
	return h.stripName(rel), nil
}

// stripName removes the folder's own name from the front of a path, as in
// "repo/src/a.go", unless the root has an entry of that name.
func (h *host) stripName(rel string) string {
	first, rest, _ := strings.Cut(rel, "/")
	if first != h.cfg.Name && first != path.Base(h.cfg.Root) {
		return rel
	}
	if _, err := h.root.Lstat(first); err == nil {
		return rel
	}
	if rest == "" {
		return "."
	}
	return rest
}

// open opens rel for reading. It does not wait for the other end of a fifo, and it
// refuses a file that .agentignore excludes by its name or by the target of its
// symlinks. The caller closes the file.
func (h *host) open(rel string) (*os.File, fs.FileInfo, error) {
	if h.agent.match(rel, false) {
		return nil, nil, fmt.Errorf("open %s: %w", rel, workspace.ErrIgnored)
	}
	f, err := h.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) { // a socket
			return nil, nil, fmt.Errorf("open %s: %w", rel, workspace.ErrNotFile)
		}
		return nil, nil, rootError(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = h.allowedTarget(f, rel, info.IsDir())
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open %s: %w", rel, err), f.Close())
	}
	return f, info, nil
}

// allowedTarget returns an error if .agentignore excludes the resolved path of an open
// file.
func (h *host) allowedTarget(f *os.File, rel string, dir bool) error {
	if at := h.inside(f, rel); at != rel && h.agent.match(at, dir) {
		return workspace.ErrIgnored
	}
	return nil
}

// inside returns the path of an open file relative to the root, without symlinks.
// Without /proc it returns rel.
func (h *host) inside(f *os.File, rel string) string {
	at, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return rel
	}
	if at == h.real {
		return "."
	}
	if in, ok := strings.CutPrefix(at, h.real+"/"); ok {
		return in
	}
	return rel
}

// openFile opens a regular file.
func (h *host) openFile(rel string) (*os.File, fs.FileInfo, error) {
	f, info, err := h.open(rel)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.Join(fmt.Errorf("open %s: %w", rel, notFile(info)), f.Close())
	}
	return f, info, nil
}

func notFile(info fs.FileInfo) error {
	if info.IsDir() {
		return fmt.Errorf("%w but a directory", workspace.ErrNotFile)
	}
	return workspace.ErrNotFile
}

// rootError wraps an error of [os.Root] so that callers can test it with [errors.Is].
func rootError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && strings.Contains(pe.Err.Error(), "path escapes from parent") {
		return fmt.Errorf("%s %s: %w", pe.Op, pe.Path, workspace.ErrOutside)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	if pe != nil && errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf(
			"use %s: it is a symlink that leads back to itself, or on through too many others: %w",
			pe.Path,
			workspace.ErrNotFile,
		)
	}
	return err
}
