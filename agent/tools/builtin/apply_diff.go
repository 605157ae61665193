package builtin

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed apply_diff.md
var applyDiffDoc string

func applyDiff(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	path := tools.PathParam("Not needed when the diff names its files.", false)
	path.Form = tools.Free
	path.Schema = `{"type":"string"}`
	path.Aliases = append(path.Aliases, "files")
	s := tools.Sheet{Name: "apply_diff", Doc: applyDiffDoc, Kind: policy.Write, Edits: true,
		Aliases: []string{"apply_patch", "multi_apply_diff", "patch", "patch_file", "replace_in_file", "search_replace"},
		Params: []tools.Param{
			path,
			{Name: "diff", Asked: true, Form: tools.Free, Schema: `{"type":"string"}`, Doc: "Diff or blocks.",
				Aliases: []string{"patch", "diffs", "changes", "edits", "blocks", "unified_diff", "input", "patch_text", "hunks"}},
			{Name: "search", Aliases: []string{"old_string", "old_str", "old_text", "search_text"}},
			{Name: "replace", Aliases: []string{"new_string", "new_str", "new_text", "replacement", "replace_text", "content"}},
			{Name: "start_line", Form: tools.Number, Aliases: []string{"line", "from_line"}},
			{Name: "end_line", Form: tools.Number, Aliases: []string{"to_line"}},
		},
		Example: `{"path":"PATH","diff":"<<<<<<< SEARCH\nold line\n=======\nnew line\n>>>>>>> REPLACE"}`}
	return editor(k, s, func(ctx context.Context, a tools.Args) (plan, error) {
		edits, err := readEdits(a)
		if err != nil {
			return plan{}, err
		}
		return planEdits(ctx, k, edits)
	})
}

// readEdits reads edits in all shapes that models send.
func readEdits(a tools.Args) ([]patch.Edit, error) {
	if raw, ok := a.Values["path"]; ok {
		if in := tools.Unwrap(raw); in[0] == '[' || in[0] == '{' {
			return filesEdits(a, in)
		}
	}
	name, err := a.Text("path")
	if err != nil {
		return nil, err
	}
	if in := strings.TrimSpace(name); strings.HasPrefix(in, "<") {
		return xmlEdits(a, in)
	}
	r := map[string]json.RawMessage{}
	for key, v := range a.Values {
		r[tools.FoldKey(key)] = v
	}
	edits, err := oneFile(a, strings.TrimSpace(name), r)
	if err != nil {
		return nil, err
	}
	return edits, allNamed(a, edits)
}

func allNamed(a tools.Args, edits []patch.Edit) error {
	for _, e := range edits {
		if strings.TrimSpace(e.Path) == "" {
			return a.Wrong("missing argument %q, and the diff does not name its file", "path")
		}
	}
	return nil
}

// filesEdits reads a list of files, each with its own edits.
func filesEdits(a tools.Args, raw json.RawMessage) ([]patch.Edit, error) {
	var out []patch.Edit
	for _, item := range tools.Elements(raw) {
		f, ok := tools.Fields(item)
		if !ok {
			return nil, a.Wrong("every element of %q must be an object with path and diff", a.Spelled("path"))
		}
		if inner, ok := f["file"]; ok && len(f) == 1 && (inner[0] == '[' || inner[0] == '{') {
			more, err := filesEdits(a, inner)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		}
		name, _ := tools.Pick(f, tools.PathNames()...)
		edits, err := oneFile(a, strings.TrimSpace(name), f)
		if err != nil {
			return nil, err
		}
		out = append(out, edits...)
	}
	out = patch.Join(out)
	return out, allNamed(a, out)
}

// oneFile reads the edits of an object with a path and a diff, a search and replace
// pair, or a range of lines.
func oneFile(a tools.Args, name string, f map[string]json.RawMessage) ([]patch.Edit, error) {
	var out []patch.Edit
	for _, key := range [...]string{"diff", "diffs", "patch", "changes", "edits", "blocks", "hunks"} {
		if raw, ok := f[key]; ok {
			edits, err := diffValue(a, raw)
			if err != nil {
				return nil, err
			}
			out = append(out, edits...)
		}
	}
	pair, ok, err := readPair(a, f)
	if err != nil {
		return nil, err
	}
	if ok && len(out) == 0 {
		out = append(out, pair)
	} else if line := lineOf(f, "start_line", "line"); line > 0 && len(out) == 1 {
		out[0] = out[0].At(line)
	}
	if len(out) == 0 {
		return nil, a.Wrong("missing argument %q", "diff")
	}
	return withPath(name, out), nil
}

// withPath adds the path of the call to edits. If the edits name several files, they keep
// their own paths.
func withPath(name string, edits []patch.Edit) []patch.Edit {
	if name == "" {
		return patch.Join(edits)
	}
	own := map[string]bool{}
	for _, e := range edits {
		if e.Path != "" {
			own[e.Path] = true
		}
	}
	for i := range edits {
		if len(own) <= 1 || edits[i].Path == "" {
			edits[i].Path = name
		}
	}
	return patch.Join(edits)
}

// diffValue reads a diff given as a string, an object, or a list of either.
func diffValue(a tools.Args, raw json.RawMessage) ([]patch.Edit, error) {
	var out []patch.Edit
	for _, item := range tools.Elements(raw) {
		if f, ok := tools.Fields(item); ok {
			edits, err := diffObject(a, f)
			if err != nil {
				return nil, err
			}
			out = append(out, edits...)
			continue
		}
		s, ok := tools.Plain(item)
		if !ok {
			return nil, a.Wrong("argument %q must be a diff as a string", "diff")
		}
		edits, err := patch.Parse(s)
		if err != nil {
			return nil, a.Wrong("%v", err)
		}
		out = append(out, edits...)
	}
	return out, nil
}

func diffObject(a tools.Args, f map[string]json.RawMessage) ([]patch.Edit, error) {
	name, _ := tools.Pick(f, tools.PathNames()...)
	if s, ok := tools.Pick(f, "diff", "patch"); ok {
		edits, err := patch.Parse(s)
		if err != nil {
			return nil, a.Wrong("%v", err)
		}
		return located(withPath(name, edits), lineOf(f, "start_line", "line")), nil
	}
	if s, ok := tools.Pick(f, "content"); ok {
		if edits, err := patch.Parse(s); err == nil {
			return located(withPath(name, edits), lineOf(f, "start_line", "line")), nil
		}
	}
	e, ok, err := readPair(a, f)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, a.Wrong("every edit needs search and replace, or a diff")
	}
	return withPath(name, []patch.Edit{e}), nil
}

func located(edits []patch.Edit, line int) []patch.Edit {
	if len(edits) == 1 {
		edits[0] = edits[0].At(line)
	}
	return edits
}

// readPair reads search and replace, or start_line, end_line and the new text.
func readPair(a tools.Args, f map[string]json.RawMessage) (patch.Edit, bool, error) {
	search, hasSearch := pickText(
		f, "search", "old_string", "old_str", "old_text", "old", "search_text", "find", "oldText",
	)
	replace, hasReplace := pickText(
		f, "replace", "new_string", "new_str", "new_text", "new", "replacement", "replace_text", "content",
	)
	from, to := lineOf(f, "start_line", "line", "from_line"), lineOf(f, "end_line", "to_line")
	switch {
	case hasSearch && !hasReplace:
		return patch.Edit{}, false, a.Wrong("missing argument %q; an empty string deletes the text", "replace")
	case hasSearch && search == replace:
		return patch.Edit{}, false, a.Wrong("arguments %q and %q are the same", "search", "replace")
	case hasSearch:
		return patch.Block(search, replace, from), true, nil
	case hasReplace && from > 0 && to >= from:
		return patch.Lines(from, to, replace), true, nil
	case hasReplace && (from > 0 || to > 0):
		return patch.Edit{}, false, a.Wrong(
			"a range needs %q and %q, the first not after the second",
			"start_line",
			"end_line",
		)
	case hasReplace:
		return patch.Edit{}, false, a.Wrong("missing argument %q", "search")
	}
	return patch.Edit{}, false, nil
}

func pickText(f map[string]json.RawMessage, names ...string) (string, bool) {
	for _, n := range names {
		raw := f[tools.FoldKey(n)]
		var lines []string
		if len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &lines) == nil {
			return strings.Join(lines, "\n"), true
		}
	}
	return tools.Pick(f, names...)
}

func lineOf(f map[string]json.RawMessage, names ...string) int {
	s, _ := tools.Pick(f, names...)
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// xmlEdits reads <file><path>…</path><diff>…</diff></file>.
func xmlEdits(a tools.Args, s string) ([]patch.Edit, error) {
	var doc struct {
		Files []struct {
			Path  string `xml:"path"`
			Diffs []struct {
				Text    string `xml:",chardata"`
				Content string `xml:"content"`
				Line    int    `xml:"start_line"`
			} `xml:"diff"`
		} `xml:"file"`
	}
	if err := xml.Unmarshal([]byte("<args>"+s+"</args>"), &doc); err != nil || len(doc.Files) == 0 {
		return nil, a.Wrong("argument %q is not a path", a.Spelled("path"))
	}
	var out []patch.Edit
	for _, f := range doc.Files {
		for _, d := range f.Diffs {
			text := d.Content
			if text == "" {
				text = d.Text
			}
			edits, err := patch.Parse(text)
			if err != nil {
				return nil, a.Wrong("%v", err)
			}
			out = append(out, located(withPath(strings.TrimSpace(f.Path), edits), d.Line)...)
		}
	}
	out = patch.Join(out)
	return out, allNamed(a, out)
}

// planEdits plans the edits of each file that they name. A file is unchanged unless all
// of its edits apply. The call fails only if no file can be changed.
func planEdits(ctx context.Context, k *tools.Kit, edits []patch.Edit) (plan, error) {
	var pl plan
	var errs []error
	seen := map[string]int{}
	for _, e := range edits {
		c, err := planEdit(ctx, k, e)
		if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
			return plan{}, errors.Join(err, ctx.Err())
		}
		if err == nil {
			if _, twice := seen[c.path]; twice {
				err = errors.New("it is named under two paths in one call; send one edit for it")
			}
			seen[c.path]++
		}
		if err != nil {
			err = tools.Complain(err)
			errs = append(errs, fmt.Errorf("%s: %w", e.Path, err))
			pl.failed = append(pl.failed, fmt.Sprintf("Not changed: %s: %v", e.Path, err))
			continue
		}
		pl.changes = append(pl.changes, c)
	}
	if len(pl.changes) == 0 {
		return plan{}, fmt.Errorf("apply_diff: nothing was changed. %w", errors.Join(errs...))
	}
	return pl, nil
}

func planEdit(ctx context.Context, k *tools.Kit, e patch.Edit) (change, error) {
	rel, err := k.Resolve(ctx, e.Path)
	if err != nil {
		return change{}, err
	}
	c, err := current(ctx, k, rel)
	if err != nil {
		return c, err
	}
	if !c.existed && !e.Create && !e.Delete && e.To == "" {
		if near, err := nearest(ctx, k, rel); err != nil {
			return c, err
		} else if near.existed {
			c = near
		}
	}
	switch {
	case isBinary(c.before):
		return c, workspace.ErrBinary
	case e.Create && c.existed && c.before != "":
		return c, errors.New("the diff creates this file, but it is there already; write a diff against its text")
	case !c.existed && (e.Delete || e.To != ""):
		return c, k.NotThere(ctx, rel)
	}
	applied, err := e.Apply(c.before)
	if err != nil {
		if !c.existed && !e.Create {
			return c, k.NotThere(ctx, rel)
		}
		return c, err
	}
	c.after, c.notes = applied.Text, append(c.notes, applied.Notes...)
	if e.Delete {
		if e.Hunks() > 0 && strings.TrimSpace(c.after) != "" {
			return c, errors.New("the diff deletes this file, but does not take out all of its text; use delete_file")
		}
		c.after, c.remove = "", true
	}
	if e.To != "" {
		return planRename(ctx, k, e, c)
	}
	return c, nil
}

func planRename(ctx context.Context, k *tools.Kit, e patch.Edit, c change) (change, error) {
	to, err := k.Resolve(ctx, e.To)
	if err != nil {
		return c, err
	}
	target, err := current(ctx, k, to)
	if err != nil {
		return c, err
	}
	if target.existed {
		return c, fmt.Errorf("it cannot be renamed to %s: there is such a file already", to)
	}
	c.from, c.path, c.existed = c.path, target.path, true
	return c, nil
}
