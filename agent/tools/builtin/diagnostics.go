package builtin

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/patch/syntax"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/shell"
)

// Limits of get_diagnostics.
const (
	maxDiagnostics = 50
	maxChecked     = 20
	maxNamed       = 5 // files in a line
	diagnoseTime   = 10 * time.Second
)

// checkers are the project's own checkers by language, for files without a language server.
var checkers = []struct {
	exts string
	line string // %s is the quoted directory of the file
}{
	{".go", "go vet ./%s"},
	{".ts .tsx .mts .cts", "npx --no-install tsc --noEmit"},
	{".rs", "cargo check --message-format short --offline"},
}

func checkerOf(name string) string {
	for _, c := range checkers {
		for _, ext := range strings.Fields(c.exts) {
			if path.Ext(name) != ext {
				continue
			}
			if strings.Contains(c.line, "%s") {
				return fmt.Sprintf(c.line, shell.Quote(path.Dir(name)))
			}
			return c.line
		}
	}
	return ""
}

func diagnostics(k *tools.Kit) tools.Tool {
	d := diagnoser{k}
	return tools.New(tools.Sheet{
		Name:    "get_diagnostics",
		Aliases: []string{"diagnostics", "get_problems", "get_errors", "lint_file", "check_file"},
		Kind:    policy.Read,
		Doc:     "Errors and warnings of a file or directory; without a path, of the files changed here.",
		Untold:  len(k.Languages) == 0,
		Params: []tools.Param{
			tools.PathParam("File or directory.", false),
			{Name: "severity", Enum: []string{"all", "error", "warning"}, Doc: "Only these."},
		},
		Example: `{"path":"PATH"}`,
	}, d.intent, d.run)
}

type diagnoser struct{ *tools.Kit }

// target returns the path of a call, and the command that checks it if no language server does.
func (d diagnoser) target(ctx context.Context, a tools.Args) (rel, line string, err error) {
	raw, err := a.Text("path")
	if err != nil || strings.TrimSpace(raw) == "" {
		return "", "", err
	}
	if rel, err = d.Resolve(ctx, raw); err != nil {
		return "", "", err
	}
	for _, l := range d.Languages {
		for _, ext := range l.Extensions {
			if strings.EqualFold(path.Ext(rel), ext) {
				return rel, "", nil
			}
		}
	}
	if d.Shell != nil {
		line = checkerOf(rel)
	}
	return rel, line, nil
}

// intent is that of a command if the project's checker runs: it may run code of the project.
func (d diagnoser) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	rel, line, err := d.target(ctx, a)
	switch {
	case err != nil:
		return policy.Action{}, err
	case line != "": //control:checkers-pass-the-gate
		return policy.Action{Kind: policy.Execute, Command: line, Cwd: ".", Display: line}, nil
	case rel == "":
		rel = "."
	}
	return policy.Action{Kind: policy.Read, Paths: []string{rel}}, nil
}

func (d diagnoser) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	rel, line, err := d.target(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	severity, err := a.Text("severity")
	if err != nil {
		return tools.Result{}, err
	}
	title := "Looked for problems"
	if rel != "" {
		title += " in " + rel
	}
	if line != "" {
		res, err := d.Shell.Run(ctx, workspace.Command{Line: line, Cwd: ".", Timeout: d.CommandTimeout}, nil)
		if err != nil {
			return tools.Result{}, err
		}
		said := tools.Shorten(strings.TrimSpace(res.Output), maxSymbols)
		if said == "" && res.Exit == 0 {
			said = "No diagnostics found."
		}
		return tools.Result{
			Content: fmt.Sprintf("By the project's checker: `%s` ended with exit code %d.\n%s", line, res.Exit, said),
			Title:   title,
		}, nil
	}
	paths, left, err := d.files(ctx, rel)
	if err != nil {
		return tools.Result{}, err
	}
	list, err := d.Code.Problems(ctx, workspace.ProblemsQuery{Paths: paths, Within: diagnoseTime})
	if err != nil {
		return tools.Result{}, err
	}
	text := d.shown(ctx, list, severity)
	if left > 0 {
		text += fmt.Sprintf("[%d more files were not checked; ask for a directory below]\n", left)
	}
	return tools.Result{Content: text, Title: title}, nil
}

// files returns the files to check.
func (d diagnoser) files(ctx context.Context, rel string) (paths []string, left int, err error) {
	add := func(p string) {
		if len(paths) < maxChecked {
			paths = append(paths, p)
		} else {
			left++
		}
	}
	if rel == "" {
		if d.Changes == nil {
			return nil, 0, nil
		}
		changes, err := d.Changes.Changes(ctx)
		for _, c := range changes {
			if c.Kind != workspace.Deleted && c.Why == "" && c.Mode.IsRegular() {
				add(c.Path)
			}
		}
		return paths, left, err
	}
	l, err := d.Files.List(ctx, rel, true, 1000)
	if err != nil {
		return []string{rel}, 0, nil //nolint:nilerr // a file; or reading it says why not
	}
	for _, e := range l.Entries {
		for _, lang := range d.Languages {
			for _, ext := range lang.Extensions {
				if strings.EqualFold(path.Ext(e.Path), ext) {
					add(path.Join(l.Base, strings.TrimPrefix(e.Path, l.Base+"/")))
				}
			}
		}
	}
	return paths, left, nil
}

// shown lists the problems by file, errors first, and says of each file without an answer why.
func (d diagnoser) shown(ctx context.Context, list []workspace.FileProblems, severity string) string {
	var b strings.Builder
	var unanswered []workspace.FileProblems
	n, over := 0, 0
	for _, f := range list {
		if f.State != "fresh" { //control:only-fresh-is-shown
			if f = d.without(ctx, f); len(f.Items) == 0 {
				unanswered = append(unanswered, f)
				continue
			}
		}
		head := false
		over += f.Left
		for _, p := range f.Items {
			if p.Severity > 2 || severity == "error" && p.Severity > 1 || severity == "warning" && p.Severity != 2 {
				continue
			}
			if n++; n > maxDiagnostics {
				over++
				continue
			}
			if !head {
				head = true
				fmt.Fprintf(&b, "── %s ── (by %s)\n", f.Path, f.Source)
			}
			fmt.Fprintf(&b, "→ %s\n", problemLine(p))
			if p.Text != "" {
				fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(p.Text))
			}
		}
	}
	switch {
	case len(list) == 0:
		b.WriteString("No diagnostics found: no file here has changed or can be checked; name one as path.\n")
	case n == 0 && len(unanswered) < len(list): //control:no-answer-is-no-praise
		b.WriteString("No diagnostics found.\n")
	}
	more(&b, over)
	return b.String() + reasons(unanswered)
}

// without returns a file that has no fresh list with the mistake that a parser finds, or the reason for no answer.
func (d diagnoser) without(ctx context.Context, f workspace.FileProblems) workspace.FileProblems {
	if f.State == "settling" {
		f.Why += "; ask again"
	}
	p, ok := d.parsed(ctx, f.Path)
	f.Source, f.Items = "its parser", nil
	switch {
	case p != nil:
		f.Items = []workspace.Problem{*p}
	case ok:
		f.Why = "it parses; no answer about the rest: " + f.Why
	default:
		f.Why = "no answer: " + f.Why
	}
	return f
}

// reasons returns a line for each reason for which files have no answer.
func reasons(files []workspace.FileProblems) string {
	var order []string
	of := map[string][]string{}
	for _, f := range files {
		if of[f.Why] == nil {
			order = append(order, f.Why)
		}
		of[f.Why] = append(of[f.Why], f.Path)
	}
	var b strings.Builder
	for _, why := range order {
		names := of[why]
		fmt.Fprintf(&b, "[%s", strings.Join(names[:min(len(names), maxNamed)], ", "))
		if n := len(names) - maxNamed; n > 0 {
			fmt.Fprintf(&b, " and %d more", n)
		}
		fmt.Fprintf(&b, ": %s.]\n", why)
	}
	return b.String()
}

// parsed parses a file in this process. ok is false if no parser knows it.
func (d diagnoser) parsed(ctx context.Context, name string) (p *workspace.Problem, ok bool) {
	if !syntax.Parsed(name) {
		return nil, false
	}
	data, _, err := d.Files.ReadAll(ctx, name, 1<<20)
	if err != nil {
		return nil, false
	}
	if f := new(syntax.Fault); errors.As(syntax.Check(name, string(data)), &f) {
		return &workspace.Problem{Line: f.Line, Column: f.Column, Severity: 1, Message: f.Reason}, true
	}
	return nil, true
}

// problemLine returns a problem as a line, without its file: "12:5 error TS2304: …".
func problemLine(p workspace.Problem) string {
	at := fmt.Sprint(p.Line)
	if p.Column > 0 {
		at += fmt.Sprintf(":%d", p.Column)
	}
	kind := "error"
	if p.Severity == 2 {
		kind = "warning"
	}
	if p.Code != "" {
		kind += " " + p.Code
	}
	return fmt.Sprintf("%s %s: %s", at, kind, p.Message)
}
