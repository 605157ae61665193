package builtin

import (
	"bufio"
	"cmp"
	"context"
	_ "embed" // the description
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed list_code_definition_names.md
var definitionsDoc string

// Limits of the output of universal-ctags.
const (
	maxTags    = 400
	maxTagLine = 120 // bytes of a line
)

func listDefinitions(k *tools.Kit) tools.Tool {
	if k.Search == nil || k.Files == nil {
		return nil
	}
	at := tools.PathParam("The root when absent.", false)
	at.Aliases = append(at.Aliases, "dir", "directory", "folder", "dir_path", "target_directory")
	d := definer{k}
	outlines := []string{"get_document_symbols", "document_symbols"}
	if len(k.Languages) > 0 {
		outlines = nil // a language server answers
	}
	return tools.New(tools.Sheet{Name: "list_code_definition_names", Doc: definitionsDoc, Kind: policy.Read,
		Doing: "Analyzing code",
		Aliases: append(outlines,
			"list_code_definitions", "list_definitions", "get_outline", "file_outline", "outline", "code_outline",
			"get_file_outline", "list_symbols", "get_symbols_overview",
			"view_code_outline",
		),
		Params: []tools.Param{
			at,
			{Name: "glob", Aliases: []string{"file_pattern", "pattern", "include", "file_glob"}},
			{Name: "recursive", Form: tools.Flag},
		},
		Example: `{"path":"."}`},
		d.intent, d.run)
}

type definer struct{ *tools.Kit }

// query reads the arguments of a call. The path may be a glob.
func (d definer) query(ctx context.Context, a tools.Args) (q workspace.OutlineQuery, err error) {
	raw, err := a.Text("path")
	if err != nil {
		return q, err
	}
	if q.Glob, err = a.Text("glob"); err != nil {
		return q, err
	}
	raw = strings.TrimSpace(raw)
	if q.Glob == "" && strings.ContainsAny(raw, "*?{") {
		raw, q.Glob = globDir(raw), raw
	}
	q.Path = "."
	if raw != "" {
		q.Path, err = d.Resolve(ctx, raw)
	}
	return q, err
}

// globDir returns the leading directory of a glob.
func globDir(glob string) string {
	dir, _, _ := strings.Cut(glob, "*")
	if i := strings.IndexAny(dir, "?{["); i >= 0 {
		dir = dir[:i]
	}
	return path.Dir(dir + "x")
}

func (d definer) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	q, err := d.query(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Kind: policy.Read, Paths: []string{q.Path}}, nil
}

func (d definer) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	q, err := d.query(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	o, err := d.Search.Outline(ctx, q)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("outline of %s: %w", q.Path, d.NotThere(ctx, q.Path))
		}
		return tools.Result{}, err
	}
	of := cmp.Or(q.Glob, q.Path)
	title := "Outlined " + of
	if len(o.Files) == 0 && len(o.Unknown) > 0 {
		return d.others(ctx, q, o, title)
	}
	if len(o.Files) == 0 {
		return tools.Result{Content: fmt.Sprintf("Nothing in %s defines anything. What .gitignore and .agentignore exclude is not looked at.", placeName(of)), Title: title}, nil
	}
	return tools.Result{Content: outlineText(o, of), Title: title}, nil
}

// outlineText formats an outline: the lines of definitions by file, and the omissions.
func outlineText(o workspace.Outline, of string) string {
	var b strings.Builder
	for i, f := range o.Files {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s (by %s)\n", f.Path, f.How)
		if len(f.Defs) == 0 {
			b.WriteString("  no definitions\n")
		}
		for _, def := range f.Defs {
			fmt.Fprintf(&b, "%s%d | %s\n", strings.Repeat("  ", min(def.Depth, 8)), def.Line, def.Text)
		}
		if f.Left > 0 {
			fmt.Fprintf(&b, "[%d more in this file]\n", f.Left)
		}
	}
	if o.More > 0 {
		fmt.Fprintf(
			&b,
			"\n[%d more definitions in %d more file%s not shown: what others use comes first; ask for a file, or a directory below %s]\n",
			o.Left,
			o.More,
			tools.Plural(o.More),
			of,
		)
	} else if o.Left > 0 && len(o.Files) == 1 {
		b.WriteString("[search_workspace finds them by name]\n")
	}
	if o.Unread > 0 {
		fmt.Fprintf(&b, "[%d more file%s not looked at; ask for a directory below]\n", o.Unread, tools.Plural(o.Unread))
	}
	if len(o.Unknown) > 0 {
		fmt.Fprintf(&b, "[not looked into: %s]\n", strings.Join(o.Unknown, ", "))
	}
	return b.String()
}

// others handles languages that the outline does not know. It uses universal-ctags if
// the workspace has it.
func (d definer) others(
	ctx context.Context,
	q workspace.OutlineQuery,
	o workspace.Outline,
	title string,
) (tools.Result, error) {
	say := func(why string) (tools.Result, error) {
		return tools.Result{
			Content: fmt.Sprintf("No outline of %s: %s. Use search_workspace, or read_file.", cmp.Or(q.Glob, q.Path), why),
			Title:   title,
		}, nil
	}
	known := "what is defined in " + strings.Join(o.Unknown, ", ") + " files is not known here"
	if _, err := d.Files.List(ctx, q.Path, false, 1); err == nil {
		return say(known + "; for a single file universal-ctags is asked, where the workspace has it")
	}
	lines, err := d.tags(ctx, q.Path)
	switch {
	case errors.Is(err, workspace.ErrGone), ctx.Err() != nil:
		return tools.Result{}, errors.Join(err, ctx.Err())
	case err != nil:
		return say(known + ", and universal-ctags is not installed in the workspace")
	case len(lines) == 0:
		return say(known + ", and universal-ctags finds nothing in it")
	}
	left := len(lines) - min(len(lines), maxTags)
	text := fmt.Sprintf("%s (by universal-ctags)\n%s\n", q.Path, strings.Join(lines[:len(lines)-left], "\n"))
	if left > 0 {
		text += fmt.Sprintf("[%d more in this file]\n", left)
	}
	return tools.Result{Content: text, Title: title}, nil
}

// tags runs universal-ctags inside the workspace on one file, without reading options
// of the project.
func (d definer) tags(ctx context.Context, p string) ([]string, error) {
	if d.Start == nil {
		return nil, fs.ErrNotExist
	}
	prog, err := d.Start.Start(
		ctx,
		workspace.Program{Argv: []string{"ctags", "--options=NONE", "-x", "--_xformat=%n %K %N", "./" + p}},
	)
	if err != nil {
		return nil, err
	}
	defer prog.Close()
	stop := context.AfterFunc(ctx, func() { prog.Close() })
	defer stop()
	type tag struct {
		line int
		text string
	}
	var found []tag
	in := bufio.NewScanner(io.LimitReader(prog, 1<<20))
	for in.Scan() {
		n, text, _ := strings.Cut(strings.TrimSpace(in.Text()), " ")
		line, err := strconv.Atoi(n)
		if err != nil || line < 1 {
			return nil, fs.ErrNotExist // another program of the same name
		}
		found = append(found, tag{line, strings.ToValidUTF8(tools.Shorten(text, maxTagLine), "\uFFFD")})
	}
	slices.SortStableFunc(found, func(a, b tag) int { return a.line - b.line })
	out := make([]string, len(found))
	for i, t := range found {
		out[i] = fmt.Sprintf("%d | %s", t.line, t.text)
	}
	return out, nil
}
