package builtin

import (
	"context"
	_ "embed" // the description
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed list_files.md
var listFilesDoc string

// maxListed is the default maximum number of listed entries.
const maxListed = 500

func listFiles(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	dir := tools.PathParam("The root when absent.", false)
	dir.Few = true
	dir.Aliases = append(dir.Aliases, "dir", "directory", "folder", "target_directory", "relative_workspace_path")
	l := lister{k}
	return tools.New(
		tools.Sheet{Name: "list_files", Doc: listFilesDoc, Few: "List a directory.", Kind: policy.Read, Essential: true,
			Doing:   "Looking for files",
			Aliases: []string{"list_dir", "list_directory", "ls", "list_folder"},
			Params: []tools.Param{
				dir,
				{Name: "recursive", Form: tools.Flag, Doc: "With all that is below.", Aliases: []string{"recurse", "is_recursive"}},
				{Name: "max", Form: tools.Number, Aliases: []string{"limit", "max_results"}},
			},
			Example: `{"path":".","recursive":true}`},
		l.intent,
		l.run,
	)
}

type lister struct{ *tools.Kit }

func (l lister) dir(ctx context.Context, a tools.Args) (string, error) {
	raw, err := a.Text("path")
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(raw) == "" {
		return ".", nil
	}
	return l.Resolve(ctx, raw)
}

func (l lister) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	dir, err := l.dir(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Kind: policy.Read, Paths: []string{dir}}, nil
}

func (l lister) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	dir, err := l.dir(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	recursive, err := a.Flag("recursive", false)
	if err != nil {
		return tools.Result{}, err
	}
	most, err := a.Number("max", maxListed)
	if err != nil {
		return tools.Result{}, err
	}
	most = min(max(most, 1), 5000)
	list, err := l.Files.List(ctx, dir, recursive, most)
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Base: %s\n", list.Base)
	for _, e := range list.Entries {
		b.WriteString(e.Path)
		b.WriteByte('\n')
	}
	switch {
	case list.Left > 0:
		left := fmt.Sprintf("%d more", list.Left)
		if list.Left >= workspace.MaxLeft {
			left = fmt.Sprintf("%d or more", workspace.MaxLeft)
		}
		fmt.Fprintf(&b, "[%s not shown; list a directory below, or raise max]\n", left)
	case len(list.Entries) == 0:
		b.WriteString("(nothing here, or only what .gitignore and .agentignore exclude)\n")
	}
	return tools.Result{Content: b.String(), Title: fmt.Sprintf("Listed %s (%d)", list.Base, len(list.Entries))}, nil
}
