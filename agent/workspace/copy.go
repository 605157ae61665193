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
	"strings"

	"golang.org/x/sync/errgroup"
)

// copyTree copies the directories, regular files and symlinks below src into the new
// directory dst, with modes and times, for engines without overlays. Directories become
// writable for their owner. It skips special files, and a ".git" at the top.
//
// No other process may write to src or dst meanwhile.
func copyTree(ctx context.Context, src, dst string) error {
	src, dst = filepath.Clean(src), filepath.Clean(dst)
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	walkErr := filepath.WalkDir(src, func(from string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		to := dst + strings.TrimPrefix(from, src)
		switch {
		case from == src:
		case to == dst+"/.git":
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			return os.Mkdir(to, 0o755)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(from)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		case d.Type().IsRegular():
			group.Go(func() error { return copyFile(from, to) })
		}
		return nil
	})
	if err := errors.Join(group.Wait(), walkErr); err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	return nil
}

// Copy copies the base files into a new directory like [copyTree], and adds the files
// of the set-up layer that the base lacks.
func (s Spec) Copy(ctx context.Context, dst string) error {
	if err := copyTree(ctx, s.Source, dst); err != nil {
		return err
	}
	if err := s.copyOver(ctx, dst); err != nil || s.Layer == "" {
		return err
	}
	return addTree(ctx, filepath.Join(s.Layer, LayerTree), dst)
}

// copyWritable makes the copies of the other repositories that may be changed, for engines
// with mounts.
func (s Spec) copyWritable(ctx context.Context) error {
	for i, dir := range s.OtherSources() {
		if !s.Others[i].Write {
			continue
		}
		if err := copyTree(ctx, s.Others[i].Source, dir); err != nil {
			return err
		}
		if err := Give(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// CopyOthers copies the other repositories into a tree, for engines without mounts. Files
// and directories that may not be changed lose their write permission.
func (s Spec) CopyOthers(ctx context.Context, tree string) error {
	for _, o := range s.Others {
		to := filepath.Join(tree, o.Path())
		if err := copyTree(ctx, o.Source, to); err != nil {
			return err
		}
		if o.Write {
			continue
		}
		root, err := os.OpenRoot(to)
		if err != nil {
			return fmt.Errorf("copy tree: %w", err)
		}
		err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.Type() == fs.ModeSymlink {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return root.Chmod(name, info.Mode().Perm()&^0o222) //control:other-repository-copied
		})
		if err = errors.Join(err, root.Close()); err != nil {
			return fmt.Errorf("copy tree: %w", err)
		}
	}
	return nil
}

// addTree copies the entries that dst lacks.
func addTree(ctx context.Context, src, dst string) error {
	root, err := os.OpenRoot(dst)
	if err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(os.DirFS(src), ".", func(name string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || name == "." {
			return err
		}
		there, err := root.Lstat(name)
		switch {
		case err == nil && d.IsDir() && !there.IsDir():
			return fs.SkipDir
		case err == nil:
			return nil
		}
		return copyEntry(root, filepath.Join(src, name), filepath.Join(dst, name), name)
	})
	if err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	return nil
}

// copyEntry copies a directory without its entries, a symlink, or a file. name is the
// path of to within root.
func copyEntry(root *os.Root, from, to, name string) error {
	info, err := os.Lstat(from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return root.Mkdir(name, 0o755)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return root.Symlink(target, name)
	}
	return copyFile(from, to) //control:layer-is-copied
}

func (s Spec) copyOver(ctx context.Context, dst string) error {
	if s.Over == "" {
		return nil
	}
	root, err := os.OpenRoot(dst)
	if err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(os.DirFS(s.Over), ".", func(name string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || name == "." {
			return err
		}
		if there, err := root.Lstat(name); d.IsDir() && err == nil && there.IsDir() {
			return nil
		}
		if err := root.RemoveAll(name); err != nil || d.Type()&fs.ModeCharDevice != 0 { // a deletion
			return err
		}
		return copyEntry(root, filepath.Join(s.Over, name), filepath.Join(dst, name), name)
	})
	if err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		_, err = io.Copy(out, in)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// RemoveTree removes a directory tree, including directories without write permission.
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
	// Errors are ignored here: RemoveAll below reports them.
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return root.Chmod(path, 0o700)
		}
		return err
	})
	return os.RemoveAll(dir)
}
