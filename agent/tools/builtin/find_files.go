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

//go:embed find_files.md
var findFilesDoc string

func findFiles(k *tools.Kit) tools.Tool {
	if k.Search == nil || k.Files == nil {
		return nil
	}
	dir := tools.PathParam("Directory; all when absent.", false)
	dir.Aliases = append(dir.Aliases, "dir", "directory", "folder", "dir_path", "target_directory")
	f := finder{k}
	return tools.New(tools.Sheet{Name: "find_files", Doc: findFilesDoc, Kind: policy.Read,
		Doing: "Looking for files",
		Aliases: []string{
			"glob", "find_file", "file_search", "glob_search", "find", "find_by_name", "search_file_names", "find_path",
		},
		Params: []tools.Param{
			{Name: "name", Doc: "Such as config, or a glob: **/*_test.go.",
				Aliases: []string{"pattern", "glob_pattern", "query", "filename", "file_name", "glob", "q"}, Required: true},
			dir,
			{Name: "max", Form: tools.Number, Aliases: []string{"limit", "max_results", "head_limit"}},
		},
		Example: `{"name":"PART OF THE NAME"}`},
		f.intent, f.run)
}

type finder struct{ *tools.Kit }

func (f finder) query(ctx context.Context, a tools.Args) (q workspace.NameQuery, err error) {
	if q.Pattern, err = a.Text("name"); err != nil {
		return q, err
	}
	if q.Pattern = strings.TrimSpace(q.Pattern); strings.Trim(q.Pattern, "./") == "" {
		return q, a.Wrong("missing argument %q", "name")
	}
	q.Path = "."
	dir, err := a.Text("path")
	if err != nil {
		return q, err
	}
	if strings.TrimSpace(dir) != "" {
		if q.Path, err = f.Resolve(ctx, dir); err != nil {
			return q, err
		}
	}
	if q.Max, err = a.Number("max", 0); err != nil {
		return q, err
	}
	q.Max = min(max(q.Max, 0), 1000)
	return q, nil
}

func (f finder) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	q, err := f.query(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Kind: policy.Read, Paths: []string{q.Path}}, nil
}

func (f finder) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	q, err := f.query(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	found, err := f.Search.Find(ctx, q)
	if err != nil {
		return tools.Result{}, err
	}
	n := len(found.Paths)
	title := fmt.Sprintf("Looked for files named %s (%d)", q.Pattern, n+found.Left)
	if n == 0 {
		return tools.Result{Content: fmt.Sprintf("No file is named %s in %s. What .gitignore and .agentignore exclude is not looked at. Try a shorter part of the name, or search_workspace for text in files.", q.Pattern, placeName(q.Path)), Title: title}, nil
	}
	var b strings.Builder
	if found.Near {
		title = fmt.Sprintf("Looked for files named %s (0)", q.Pattern)
		fmt.Fprintf(&b, "No file is named %s. Close to it:\n", q.Pattern)
	}
	for _, p := range found.Paths {
		b.WriteString(p + "\n")
	}
	if found.Left > 0 {
		fmt.Fprintf(&b, "[%d more not shown; give more of the name, or a path]\n", found.Left)
	}
	return tools.Result{Content: b.String(), Title: title}, nil
}

// placeName names a directory in a sentence, in which "." would read as a full stop.
func placeName(dir string) string {
	if dir == "." {
		return "the workspace"
	}
	return dir
}
