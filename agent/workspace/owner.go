package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Owner returns the user and group of processes in walled workspaces: those of this
// process, or 65532 if it is root. Processes inside are never root.
func Owner() (uid, gid int) {
	if uid, gid = os.Geteuid(), os.Getegid(); uid == 0 {
		return 65532, 65532
	}
	return uid, gid
}

// Give transfers a tree to [Owner], so that engines can lay an overlay over it instead
// of copying it. Without root it does nothing: the owner is right already.
func Give(ctx context.Context, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid := Owner()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("give tree: %w", err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		return root.Lchown(path, uid, gid)
	})
	if err != nil {
		return fmt.Errorf("give tree: %w", err)
	}
	return nil
}

// Layers are the directories of one workspace.
type Layers struct {
	Base  string // read-only; topmost first, separated by ":"; "" if the workspace starts empty
	Tree  string // the copy; not used with Upper
	Upper string // upper layer of an overlay on Base; "" means a copy
	Work  string // the overlay's work directory
	Cache string // writable, for tools
	Under string // set-up layer below Base, for an overlay; "" if none
	// CacheBase is the set-up layer below Cache, for an overlay with the work directory
	// CacheWork; "" if none.
	CacheBase, CacheWork string
}

// Lay makes the directories of a workspace: those of an overlay if requested and
// suitable for the source, else a copy of the source.
func Lay(ctx context.Context, spec Spec, overlay bool) (Layers, error) {
	l, err := lay(ctx, spec, overlay)
	if err == nil {
		err = spec.copyWritable(ctx)
	}
	return l, err
}

// lay makes the directories of the tree and of the caches.
func lay(ctx context.Context, spec Spec, overlay bool) (Layers, error) {
	at := func(name string) string { return filepath.Join(spec.State, name) }
	l := Layers{Base: spec.Source, Cache: at("cache")}
	if err := os.MkdirAll(spec.State, 0o755); err != nil {
		return l, fmt.Errorf("make workspace: %w", err)
	}
	own := []string{l.Cache, filepath.Join(l.Cache, "home")}
	if overlay && fitForOverlay(spec) {
		l.Upper, l.Work = at("upper"), at("work")
		own = append(own, l.Upper, l.Work)
		if spec.Layer != "" {
			l.Under, l.CacheBase, l.CacheWork = filepath.Join(spec.Layer, LayerTree), filepath.Join(spec.Layer, LayerCache), at("cachework")
			own = append(own, l.CacheWork)
		}
	} else {
		l.Tree = at("tree")
		own = append(own, l.Tree)
	}
	uid, gid := Owner()
	for _, dir := range own {
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, uid, gid)); err != nil {
			return l, fmt.Errorf("make workspace: %w", err)
		}
	}
	if l.Tree == "" && spec.Over != "" {
		l.Base = spec.Over + ":" + spec.Source
	}
	if l.Tree == "" || spec.Source == "" {
		return l, nil
	}
	if err := spec.Copy(ctx, l.Tree); err != nil {
		return l, err
	}
	if spec.Layer != "" {
		if err := addTree(ctx, filepath.Join(spec.Layer, LayerCache), l.Cache); err != nil {
			return l, err
		}
		if err := Give(ctx, l.Cache); err != nil {
			return l, err
		}
	}
	if spec.Over != "" { // no single directory has all base files
		l.Base = ""
	}
	return l, Give(ctx, l.Tree)
}

// Open opens a workspace on an overlay if requested. If no overlay can be mounted, it
// logs a warning and falls back to a copy, which is slow for many files. log may be nil.
func (s Spec) Open(
	ctx context.Context,
	overlay bool,
	log *slog.Logger,
	open func(overlay bool) (*Workspace, error),
) (*Workspace, error) {
	ws, err := open(overlay)
	if err == nil || !overlay || ctx.Err() != nil {
		return ws, err
	}
	again := RemoveTree(s.State) // discard the first attempt
	if again == nil {
		ws, again = open(false)
	}
	if again != nil {
		return nil, errors.Join(err, again)
	}
	if log != nil {
		log.WarnContext(ctx, "no overlay could be laid: the workspace is a copy of the files", "error", err)
	}
	return ws, nil
}

// fitForOverlay reports whether the source can be the base of an overlay: it belongs to
// the user inside, and no path needs escaping in mount options.
func fitForOverlay(spec Spec) bool {
	if spec.Source == "" || strings.ContainsAny(spec.Source+spec.Over+spec.Layer+spec.State, ":,\\\"'") {
		return false
	}
	info, err := os.Stat(spec.Source)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	uid, _ := Owner()
	return ok && int(st.Uid) == uid
}
