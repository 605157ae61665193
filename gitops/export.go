package gitops

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// limits are how much an export writes at the most.
type limits struct {
	files int // entries of any kind
	bytes int64
}

// exported says what was written and what was left out.
type exported struct {
	Files      int // regular files
	Bytes      int64
	Symlinks   int
	Submodules []string // written as empty directories
	LFS        int      // files that are pointers to large file storage, written as they are
	Refused    []string // not written: names that are a git directory somewhere, or no names at all
}

// Export writes the tree of a commit into dir, which must be empty or not
// exist. Files have their execute bit; symlinks are written as they are and
// never followed, wherever they point; submodules become empty directories.
// Names that are a git directory somewhere are left out. Attributes and
// filters are ignored. A tree of more than 1,000,000 files or 16 GiB is
// [ErrTooLarge]; dir is then incomplete.
func (m *Mirror) Export(ctx context.Context, commit, dir string) error {
	_, err := m.export(ctx, commit, dir, limits{files: 1_000_000, bytes: 16 << 30})
	return err
}

func (m *Mirror) export(ctx context.Context, commit, dir string, most limits) (exported, error) {
	x := &exporter{most: most}
	id, err := m.Resolve(ctx, commit)
	if err != nil {
		return x.rep, fmt.Errorf("export: %w", err)
	}
	root, err := openEmpty(dir)
	if err != nil {
		return x.rep, fmt.Errorf("export %s: %w", id, err)
	}
	defer closeRoot(root)
	err = m.pool.Once(func(o *objects.DB) error {
		x.o = o
		tree, err := o.TreeOf(id)
		if err == nil {
			err = x.dir(ctx, root, tree, "")
		}
		return err
	})
	if err != nil {
		return x.rep, fmt.Errorf("export %s: %w", id, err)
	}
	return x.rep, nil
}

func openEmpty(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		return nil, fmt.Errorf("%s is not empty", dir)
	}
	return os.OpenRoot(dir)
}

type exporter struct {
	o    *objects.DB
	most limits
	rep  exported
	n    int // entries of any kind
}

// dir writes a tree into the directory that at is open on. Nobody else
// writes there, and nothing written is followed.
func (x *exporter) dir(ctx context.Context, at *os.Root, h plumbing.Hash, path string) error {
	list, err := x.o.Tree(h)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if x.n++; x.n > x.most.files {
			return fmt.Errorf("%w: the tree has more than %d files and directories", ErrTooLarge, x.most.files)
		}
		name := path + e.Name
		if badName(e.Name) {
			x.rep.Refused = append(x.rep.Refused, name)
			continue
		}
		if err := x.entry(ctx, at, e, name); err != nil {
			return fmt.Errorf("write %q: %w", name, err)
		}
	}
	return nil
}

// badName reports whether a name from a tree may not become a file name.
func badName(name string) bool {
	return name == "" || name == "." || name == ".." || len(name) > 255 ||
		strings.ContainsAny(name, "/\x00") || unsafePath([]string{name}) && !isDotModules(name)
}

func (x *exporter) entry(ctx context.Context, at *os.Root, e objects.Entry, name string) error {
	switch e.Mode {
	case filemode.Dir:
		if err := at.Mkdir(e.Name, 0o755); err != nil {
			return err
		}
		sub, err := at.OpenRoot(e.Name)
		if err != nil {
			return err
		}
		defer closeRoot(sub)
		return x.dir(ctx, sub, e.Hash, name+"/")
	case filemode.Submodule:
		x.rep.Submodules = append(x.rep.Submodules, name)
		return at.Mkdir(e.Name, 0o755)
	case filemode.Symlink:
		target, err := x.o.Read(plumbing.BlobObject, e.Hash, 4096)
		if errors.Is(err, ErrTooLarge) || err == nil && (len(target) == 0 || strings.ContainsRune(string(target), 0)) {
			x.rep.Refused = append(x.rep.Refused, name)
			return nil
		}
		if err != nil {
			return err
		}
		x.rep.Symlinks++
		return at.Symlink(string(target), e.Name)
	}
	return x.file(at, e)
}

func (x *exporter) file(at *os.Root, e objects.Entry) error {
	r, size, err := x.o.Open(plumbing.BlobObject, e.Hash)
	if err != nil {
		return err
	}
	defer r.Close()
	if x.rep.Bytes += size; x.rep.Bytes > x.most.bytes {
		return fmt.Errorf("%w: the tree has more than %d bytes", ErrTooLarge, x.most.bytes)
	}
	mode := os.FileMode(0o644)
	if e.Mode == filemode.Executable {
		mode = 0o755
	}
	f, err := at.OpenFile(e.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(r)
	const lfs = "version https://git-lfs.github.com/spec/"
	if head, _ := in.Peek(len(lfs)); size < 1024 && string(head) == lfs {
		x.rep.LFS++
	}
	if _, err := io.Copy(f, in); err != nil {
		return err
	}
	x.rep.Files++
	return f.Close()
}

// closeRoot closes a directory that was only written through.
func closeRoot(r *os.Root) { _ = r.Close() }
