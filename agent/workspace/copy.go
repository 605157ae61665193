package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// CopyTree copies the directories, regular files and symlinks below src into
// the new directory dst, with modes and times, for engines that cannot lay an
// overlay. Directories become writable for their owner; a ".git" at the top is
// left out, and so is every special file.
func CopyTree(ctx context.Context, src, dst string) error {
	from, err := os.OpenRoot(src)
	if err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	defer func() { _ = from.Close() }()
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	to, err := os.OpenRoot(dst)
	if err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	defer func() { _ = to.Close() }()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	walkErr := fs.WalkDir(from.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		switch {
		case path == ".":
		case path == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			return to.Mkdir(path, 0o755)
		case d.Type() == fs.ModeSymlink:
			target, err := from.Readlink(path)
			if err != nil {
				return err
			}
			return to.Symlink(target, path)
		case d.Type().IsRegular():
			group.Go(func() error { return copyFile(from, to, path) })
		}
		return nil
	})
	if err := errors.Join(group.Wait(), walkErr); err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	return nil
}

func copyFile(from, to *os.Root, path string) error {
	in, err := from.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := to.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		_, err = io.Copy(out, in)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return to.Chtimes(path, info.ModTime(), info.ModTime())
}

// RemoveTree removes a directory with everything in it, also where its
// content has taken write permission away from directories.
func RemoveTree(dir string) error {
	if dir == "" || filepath.Clean(dir) == "/" {
		return fmt.Errorf("remove tree %q: %w", dir, fs.ErrInvalid)
	}
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	// What cannot be made writable shows again below.
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return root.Chmod(path, 0o700)
		}
		return err
	})
	return os.RemoveAll(dir)
}
