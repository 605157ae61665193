package host

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// baseline is what the tree was when it was opened.
type baseline struct {
	done  chan struct{}
	err   error
	files map[string]stamp
	agent *ignores
}

// stamp is what an unchanged file keeps: any write or exchange moves the
// change time, which commands cannot set.
type stamp struct {
	size, mtime, ctime int64
	ino                uint64
	mode               fs.FileMode
}

func stampNode(n *node) stamp {
	return stamp{size: n.stat.Size, mtime: n.stat.Mtim.Nano(), ctime: n.stat.Ctim.Nano(), ino: n.stat.Ino, mode: n.mode}
}

func newBaseline(_ Config, agent *ignores) (*baseline, error) {
	return &baseline{done: make(chan struct{}), files: map[string]stamp{}, agent: agent}, nil
}

// scan looks at the whole tree once, before anything can change it.
func (b *baseline) scan(ctx context.Context, h *host) {
	defer close(b.done)
	w := tracked(h, func(n *node) { b.files[n.path] = stampNode(n) })
	w.enter = func(dir string, names []string) {
		if _, ok := slices.BinarySearch(names, b.agent.name); ok {
			b.agent.load(dir)
		}
	}
	if err := w.walk(ctx, "."); err != nil {
		b.err = fmt.Errorf("scan workspace: %w", err)
		return
	}
	b.agent.seal()
}

// wait returns when the base is known. Nothing may change the tree before.
func (b *baseline) wait(ctx context.Context) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tracked walks over what can be in a commit: regular files and symlinks,
// outside of git's own directories.
func tracked(h *host, visit func(n *node)) *walker {
	return &walker{root: h.root, visit: func(n *node) (bool, error) {
		switch {
		case path.Base(n.path) == ".git" || strings.HasPrefix(path.Base(n.path), tempPrefix):
			return false, nil
		case n.isDir():
			return true, nil
		case n.mode.IsRegular() || n.mode&fs.ModeSymlink != 0:
			visit(n)
		}
		return false, nil
	}}
}

// changes compares the tree with the base. What is new and excluded by
// .gitignore is no change: it would not be committed.
func (h *host) changes(ctx context.Context) ([]workspace.WireChange, error) {
	if err := h.base.wait(ctx); err != nil {
		return nil, err
	}
	out := []workspace.WireChange{}
	seen := make(map[string]bool, len(h.base.files))
	h.git.refresh()
	var fresh []node
	w := tracked(h, func(n *node) {
		old, ok := h.base.files[n.path]
		switch {
		case !ok:
			fresh = append(fresh, *n)
		case old != stampNode(n):
			out = append(out, changeOf(n, workspace.Modified))
		}
		seen[n.path] = ok
	})
	if err := w.walk(ctx, "."); err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	for i := range fresh {
		if !h.git.match(fresh[i].path, false) {
			out = append(out, changeOf(&fresh[i], workspace.Created))
		}
	}
	for p, old := range h.base.files {
		if !seen[p] {
			out = append(out, workspace.WireChange{Path: []byte(p), Kind: workspace.Deleted, Mode: old.mode, Size: old.size})
		}
	}
	slices.SortFunc(out, func(a, b workspace.WireChange) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return out, nil
}

func changeOf(n *node, kind workspace.ChangeKind) workspace.WireChange {
	return workspace.WireChange{Path: []byte(n.path), Kind: kind, Mode: n.mode, Size: n.stat.Size}
}
