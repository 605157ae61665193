package tools

import (
	"context"
	_ "embed" // the description
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/policy"
)

//go:embed list_files.md
var listFilesDoc string

// maxListed is how many entries are listed when the call says no number.
const maxListed = 500

func listFiles(k *kit) *tool {
	if k.Files == nil {
		return nil
	}
	dir := pathParam("Directory, relative to the workspace root; the root when absent.", false)
	dir.aliases = append(dir.aliases, "dir", "directory", "folder", "target_directory", "relative_workspace_path")
	l := lister{k}
	return &tool{
		sheet: sheet{name: "list_files", doc: listFilesDoc,
			params: []param{
				dir,
				{name: "recursive", kind: flag, doc: "List what is below as well.", aliases: []string{"recurse", "is_recursive"}},
				{name: "max", kind: number, doc: "How many entries at most, 500 when absent.", aliases: []string{"limit", "max_results"}},
			},
			example: `{"path":"src","recursive":true}`},
		intent: l.intent, run: l.run,
	}
}

type lister struct{ *kit }

func (l lister) dir(ctx context.Context, a args) (string, error) {
	raw, err := a.text("path")
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(raw) == "" {
		return ".", nil
	}
	return l.resolve(ctx, raw)
}

func (l lister) intent(ctx context.Context, a args) (policy.Action, error) {
	dir, err := l.dir(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Kind: policy.Read, Paths: []string{dir}}, nil
}

func (l lister) run(ctx context.Context, a args, _ Progress) (Result, error) {
	dir, err := l.dir(ctx, a)
	if err != nil {
		return Result{}, err
	}
	recursive, err := a.flag("recursive", false)
	if err != nil {
		return Result{}, err
	}
	most, err := a.number("max", maxListed)
	if err != nil {
		return Result{}, err
	}
	most = min(max(most, 1), 5000)
	list, err := l.Files.List(ctx, dir, recursive, most)
	if err != nil {
		return Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Base: %s\n", list.Base)
	for _, e := range list.Entries {
		b.WriteString(e.Path)
		b.WriteByte('\n')
	}
	switch {
	case list.Left > 0:
		fmt.Fprintf(&b, "[%d more not shown; list a directory below, or raise max]\n", list.Left)
	case len(list.Entries) == 0:
		b.WriteString("(nothing here, or only what .gitignore and .agentignore exclude)\n")
	}
	return Result{Content: b.String(), Title: fmt.Sprintf("Listed %s (%d)", list.Base, len(list.Entries))}, nil
}
