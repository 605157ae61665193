package builtin

import (
	"context"
	_ "embed" // the description
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/patch/syntax"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed edit_file.md
var editFileDoc string

func editFile(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	s := tools.Sheet{
		Name:      "edit_file",
		Doc:       editFileDoc,
		Few:       "Change a part of a file: `old_string`, which is in it exactly once, becomes `new_string`.",
		Kind:      policy.Write,
		Essential: true,
		Edits:     true,
		Aliases: []string{
			"edit", "edit_existing_file", "str_replace", "string_replace", "replace_string_in_file", "replace",
			"multi_edit",
		},
		Params: []tools.Param{
			tools.PathParam("File.", true),
			{Name: "old_string", Asked: true, Doc: "Exact text.",
				Aliases: []string{"old_str", "old_text", "old", "search", "find", "target", "original"}},
			{Name: "new_string", Asked: true, Doc: "Empty to delete.",
				Aliases: []string{"new_str", "new_text", "new", "replace", "replacement", "replace_with"}},
			{Name: "replace_all", Form: tools.Flag, Doc: "Every occurrence.", Aliases: []string{"all", "allow_multiple"}},
			{Name: "expected_replacements", Form: tools.Number, Aliases: []string{"count", "expected_count"}},
			{
				Name:    "edits",
				Form:    tools.Free,
				Schema:  `{"type":"array","items":{"type":"object","properties":{"old_string":{"type":"string"},"new_string":{"type":"string"}}}}`,
				Aliases: []string{"changes", "replacements"},
			},
			{Name: "code_edit",
				Aliases: []string{"edit", "code", "content", "sketch", "code_edits", "changed_code"}},
			{Name: "instructions", Aliases: []string{"instruction", "description"}},
		},
		Example: `{"path":"PATH","old_string":"old text","new_string":"new text"}`,
	}
	return editor(k, s, func(ctx context.Context, a tools.Args) (plan, error) {
		rel, err := k.Path(ctx, a)
		if err != nil {
			return plan{}, err
		}
		reps, sketch, err := readReplacements(a)
		if err != nil {
			return plan{}, err
		}
		var c change
		if sketch == "" && len(reps) == 1 && reps[0].old == "" {
			c, err = current(ctx, k, rel)
		} else {
			c, err = existing(ctx, k, rel)
		}
		if err != nil {
			return plan{}, err
		}
		if sketch != "" {
			err = c.merge(sketch, a.Merged)
		} else {
			err = c.replaceAll(reps)
		}
		return plan{changes: []change{c}}, err
	})
}

// replacement replaces one text with another.
type replacement struct {
	old, new string
	all      bool
	times    int
}

func readReplacements(a tools.Args) (out []replacement, sketch string, err error) {
	if a.Has("edits") {
		for _, item := range a.Items("edits") {
			f, ok := tools.Fields(item)
			if !ok {
				return nil, "", a.Wrong("every element of %q must be an object with old_string and new_string", "edits")
			}
			old, ok1 := pickText(f, "old_string", "old_str", "old_text", "old", "search", "find")
			add, ok2 := pickText(f, "new_string", "new_str", "new_text", "new", "replace", "replacement")
			if !ok1 || !ok2 {
				return nil, "", a.Wrong("every element of %q needs old_string and new_string", "edits")
			}
			all, _ := tools.Pick(f, "replace_all", "all")
			out = append(out, replacement{old: old, new: add, all: all == "true" || string(f["replaceall"]) == "true"})
		}
		if len(out) == 0 {
			return nil, "", a.Wrong("argument %q is empty", "edits")
		}
		return out, "", nil
	}
	if sketch, err = a.Text("code_edit"); err != nil {
		return nil, "", err
	}
	if a.Has("old_string") || sketch == "" {
		for _, name := range [...]string{"old_string", "new_string"} {
			if !a.Has(name) {
				return nil, "", a.Wrong("missing argument %q", name)
			}
		}
		r, err := readReplacement(a)
		return []replacement{r}, "", err
	}
	return nil, sketch, nil
}

func readReplacement(a tools.Args) (r replacement, err error) {
	if r.old, err = a.Text("old_string"); err != nil {
		return r, err
	}
	if r.new, err = a.Text("new_string"); err != nil {
		return r, err
	}
	if r.all, err = a.Flag("replace_all", false); err != nil {
		return r, err
	}
	r.times, err = a.Number("expected_replacements", 0)
	return r, err
}

func (c *change) replaceAll(reps []replacement) error {
	text := c.before
	for i, r := range reps {
		if r.made(text) { //control:made-once
			return fmt.Errorf("%s: nothing was changed, because this edit is made already: the new text is there, "+
				"and the old one only as a part of it", c.path)
		}
		out, n, err := patch.Replace(text, r.old, r.new, r.all)
		if err != nil && r.times > 1 && n == r.times {
			out, n, err = patch.Replace(text, r.old, r.new, true)
		}
		if err != nil {
			if len(reps) > 1 {
				return fmt.Errorf("%s: edit %d of %d: %w (nothing was changed)", c.path, i+1, len(reps), err)
			}
			return fmt.Errorf("%s: %w", c.path, err)
		}
		if i > 0 && !r.all && n == 1 && strings.Count(c.before, r.old) > 1 {
			return fmt.Errorf(
				"%s: edit %d of %d: the text to replace was there %d times before the other edits; add lines before or after it so that it is there once (nothing was changed)",
				c.path,
				i+1,
				len(reps),
				strings.Count(c.before, r.old),
			)
		}
		if r.times > 0 && n != r.times {
			return fmt.Errorf(
				"%s: the text is there %d times, not %d times as expected; nothing was changed",
				c.path,
				n,
				r.times,
			)
		}
		if n > 1 {
			c.notes = append(c.notes, fmt.Sprintf("Replaced %d occurrences.", n))
		}
		c.notes = append(c.notes, out.Notes...)
		text = out.Text
	}
	c.after = text
	return nil
}

// made reports whether text has the result of r, so that another replacement would repeat its
// new part: small models send an insertion twice.
func (r replacement) made(text string) bool {
	n := strings.Count(r.new, r.old)
	return r.old != "" && n > 0 && r.new != r.old && !r.all &&
		strings.Count(text, r.new) == 1 && strings.Count(text, r.old) == n
}

// merge applies a sketch. merged, if not nil, is the model's answer about parts with open places.
func (c *change) merge(sketch string, merged *session.Merged) error {
	text, notes := patch.Clean(c.path, c.before, sketch)
	out, err := patch.Merge(c.before, text, "")
	if err != nil && merged != nil {
		if placed, errPlaced := patch.Merge(c.before, text, merged.Text); errPlaced == nil && !c.breaks(placed.Text) {
			out, err = placed, nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	c.after = out.Text
	c.notes = append(append(c.notes, notes...), out.Notes...)
	return nil
}

// breaks reports whether the file parses, and text in its place does not.
func (c *change) breaks(text string) bool {
	return syntax.Check(c.path, text) != nil && syntax.Check(c.path, c.before) == nil //control:merge-parses
}
