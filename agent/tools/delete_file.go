package tools

import (
	"context"
	_ "embed" // the description
	"fmt"
	"path"
)

//go:embed delete_file.md
var deleteFileDoc string

func deleteFile(k *kit) *tool {
	if k.Files == nil {
		return nil
	}
	s := sheet{name: "delete_file", doc: deleteFileDoc,
		params:  []param{pathParam("File to delete.", true)},
		example: `{"path":"src/old.txt"}`}
	return k.editor(s, func(ctx context.Context, a args) (plan, error) {
		rel, err := k.path(ctx, a)
		if err != nil {
			return plan{}, err
		}
		c, err := k.doomed(ctx, rel)
		if err != nil {
			return plan{}, err
		}
		return plan{changes: []change{c}}, nil
	})
}

// doomed is the change that deletes rel: of a symlink the link, not what it
// leads to.
func (k *kit) doomed(ctx context.Context, rel string) (change, error) {
	dir, err := k.landing(ctx, path.Dir(rel))
	if err != nil {
		return change{}, err
	}
	at := path.Join(dir, path.Base(rel))
	if k.Changes != nil {
		target, err := k.link(ctx, at, false)
		if err != nil {
			return change{}, err
		}
		if target != "" {
			return change{path: at, before: target, existed: true, remove: true,
				notes: []string{"It was a symlink; what it led to is still there."}}, nil
		}
	}
	c, err := k.current(ctx, at)
	if err != nil {
		return c, err
	}
	if !c.existed {
		return c, fmt.Errorf("delete %s: %w", rel, k.notThere(ctx, rel))
	}
	c.remove = true
	return c, nil
}
