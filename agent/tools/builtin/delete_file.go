package builtin

import (
	"context"
	_ "embed" // the description
	"fmt"
	"path"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed delete_file.md
var deleteFileDoc string

func deleteFile(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	s := tools.Sheet{Name: "delete_file", Doc: deleteFileDoc, Kind: policy.Delete,
		Aliases: []string{"remove_file", "delete", "rm_file"},
		Params:  []tools.Param{tools.PathParam("File.", true)},
		Example: `{"path":"PATH"}`}
	return editor(k, s, func(ctx context.Context, a tools.Args) (plan, error) {
		rel, err := k.Path(ctx, a)
		if err != nil {
			return plan{}, err
		}
		c, err := deletion(ctx, k, rel)
		if err != nil {
			return plan{}, err
		}
		return plan{changes: []change{c}}, nil
	})
}

// deletion returns the change that deletes rel. For a symlink, it deletes the link and
// keeps the target.
func deletion(ctx context.Context, k *tools.Kit, rel string) (change, error) {
	dir, err := k.Landing(ctx, path.Dir(rel))
	if err != nil {
		return change{}, err
	}
	at := path.Join(dir, path.Base(rel))
	if k.Changes != nil {
		target, err := k.Link(ctx, at, false)
		if err != nil {
			return change{}, err
		}
		if target != "" {
			return change{path: at, before: target, existed: true, remove: true,
				notes: []string{"It was a symlink; what it led to is still there."}}, nil
		}
	}
	c, err := current(ctx, k, at)
	if err != nil {
		return c, err
	}
	if !c.existed {
		return c, fmt.Errorf("delete %s: %w", rel, k.NotThere(ctx, rel))
	}
	c.remove = true
	return c, nil
}
