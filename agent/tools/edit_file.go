package tools

import (
	"context"
	_ "embed" // the description
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch"
)

//go:embed edit_file.md
var editFileDoc string

func editFile(k *kit) *tool {
	if k.Files == nil {
		return nil
	}
	s := sheet{name: "edit_file", doc: editFileDoc,
		params: []param{
			pathParam("File to change.", true),
			{name: "old_string", doc: "Exact text to replace; it must be in the file once.",
				aliases: []string{"old_str", "old_text", "old", "search", "find", "target", "original"}},
			{name: "new_string", doc: "Text to put there; empty to delete.",
				aliases: []string{"new_str", "new_text", "new", "replace", "replacement", "replace_with"}},
			{name: "replace_all", kind: flag, doc: "Replace every occurrence.", aliases: []string{"all", "allow_multiple"}},
			{name: "expected_replacements", kind: number, doc: "How often the text is there, when more than once.", aliases: []string{"count", "expected_count"}},
			{name: "edits", kind: free, schema: `{"type":"array","items":{"type":"object","properties":{"old_string":{"type":"string"},"new_string":{"type":"string"}}}}`,
				doc: "Several replacements, made in order.", aliases: []string{"changes", "replacements"}},
			{name: "code_edit", doc: "Instead of old_string and new_string: the changed parts with \"// ... existing code ...\" where text stays.",
				aliases: []string{"edit", "code", "content", "sketch", "code_edits", "changed_code"}},
			{name: "instructions", doc: "What the edit does, in a sentence; optional.", aliases: []string{"instruction", "description"}},
		},
		example: `{"path":"src/a.txt","old_string":"old text","new_string":"new text"}`}
	return k.editor(s, func(ctx context.Context, a args) (plan, error) {
		rel, err := k.path(ctx, a)
		if err != nil {
			return plan{}, err
		}
		reps, sketch, err := a.replacements()
		if err != nil {
			return plan{}, err
		}
		var c change
		if sketch == "" && len(reps) == 1 && reps[0].old == "" {
			c, err = k.current(ctx, rel)
		} else {
			c, err = k.existing(ctx, rel)
		}
		if err != nil {
			return plan{}, err
		}
		if sketch != "" {
			err = c.merge(sketch)
		} else {
			err = c.replaceAll(reps)
		}
		return plan{changes: []change{c}}, err
	})
}

// replacement is one text for another.
type replacement struct {
	old, new string
	all      bool
	times    int
}

func (a args) replacements() (out []replacement, sketch string, err error) {
	if a.has("edits") {
		for _, item := range a.items("edits") {
			f, ok := fields(item)
			if !ok {
				return nil, "", a.sheet.wrong("every element of %q must be an object with old_string and new_string", "edits")
			}
			old, ok1 := pickText(f, "old_string", "old_str", "old_text", "old", "search", "find")
			add, ok2 := pickText(f, "new_string", "new_str", "new_text", "new", "replace", "replacement")
			if !ok1 || !ok2 {
				return nil, "", a.sheet.wrong("every element of %q needs old_string and new_string", "edits")
			}
			all, _ := pick(f, "replace_all", "all")
			out = append(out, replacement{old: old, new: add, all: all == "true" || string(f["replaceall"]) == "true"})
		}
		if len(out) == 0 {
			return nil, "", a.sheet.wrong("argument %q is empty", "edits")
		}
		return out, "", nil
	}
	if sketch, err = a.text("code_edit"); err != nil {
		return nil, "", err
	}
	if a.has("old_string") || sketch == "" {
		for _, name := range [...]string{"old_string", "new_string"} {
			if !a.has(name) {
				return nil, "", a.sheet.wrong("missing argument %q", name)
			}
		}
		r, err := a.single()
		return []replacement{r}, "", err
	}
	return nil, sketch, nil
}

func (a args) single() (r replacement, err error) {
	if r.old, err = a.text("old_string"); err != nil {
		return r, err
	}
	if r.new, err = a.text("new_string"); err != nil {
		return r, err
	}
	if r.all, err = a.flag("replace_all", false); err != nil {
		return r, err
	}
	r.times, err = a.number("expected_replacements", 0)
	return r, err
}

func (c *change) replaceAll(reps []replacement) error {
	text := c.before
	for i, r := range reps {
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
		if r.times > 0 && n != r.times {
			return fmt.Errorf("%s: the text is there %d times, not %d times as expected; nothing was changed", c.path, n, r.times)
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

func (c *change) merge(sketch string) error {
	text, notes := patch.Clean(c.path, c.before, sketch)
	out, err := patch.Merge(c.before, text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	c.after = out.Text
	for _, n := range append(notes, out.Notes...) {
		c.notes = append(c.notes, strings.ToUpper(n[:1])+n[1:]+".")
	}
	return nil
}
