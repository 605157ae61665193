package host

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// openOthers opens the other repositories that may be changed.
func (h *host) openOthers() error {
	h.others = map[string]*host{}
	for _, name := range h.cfg.Writes {
		within := workspace.Other{Name: name}.Path()
		root, err := h.root.OpenRoot(within)
		if err != nil {
			h.closeOthers()
			return fmt.Errorf("open %s: %w", name, err)
		}
		h.others[name] = &host{
			cfg:    Config{Root: path.Join(h.cfg.Root, within)},
			root:   root,
			log:    h.log,
			git:    newIgnores(root, ".gitignore", false),
			of:     h,
			within: within,
			base: &baseline{
				done:  make(chan struct{}),
				files: map[string]stamp{},
				agent: newIgnores(root, ".agentignore", true),
				tree:  root,
			},
		}
	}
	return nil
}

func (h *host) closeOthers() {
	for _, o := range h.others {
		_ = o.root.Close()
	}
}

// scanOthers reads the other repositories before any change.
func (h *host) scanOthers(ctx context.Context) {
	for _, o := range h.others {
		o.base.scan(ctx, o)
	}
}

// otherChanges returns the changes of another repository.
func (h *host) otherChanges(ctx context.Context, name string) ([]workspace.WireChange, error) {
	o := h.others[name]
	if o == nil {
		return nil, fmt.Errorf("list changes of %s: %w", name, workspace.ErrOther)
	}
	return o.changes(ctx)
}

// isOther reports whether a path without symlinks belongs to another repository that may
// not be changed, or is not within one.
func (h *host) isOther(rel string) bool {
	if rel != workspace.OthersDir && !strings.HasPrefix(rel, workspace.OthersDir+"/") { //control:other-repository-by-a-link
		return false
	}
	for name := range h.others {
		if strings.HasPrefix(rel, workspace.Other{Name: name}.Path()+"/") {
			return false
		}
	}
	return true
}
